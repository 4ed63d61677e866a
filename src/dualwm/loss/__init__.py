"""The losses of sections 3.2 and 3.3, as functions of tensors: LoRe, MAPS, Gaussian regulariser, error envelope."""
