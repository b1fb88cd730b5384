"""stub"""
def write_onnx(model, path, dtype="auto"):
    raise NotImplementedError
