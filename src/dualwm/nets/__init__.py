"""Parts without meaning: transformers, image backbones, heads, BatchNorm over the global batch, keyed dropout.

Nothing here knows what a latent, a macro-action or a plan is.
"""
