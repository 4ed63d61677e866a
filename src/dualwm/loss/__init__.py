"""Section 3.2 of the paper as functions of tensors: LoRe, MAPS, the Gaussian regulariser, the error envelope."""
