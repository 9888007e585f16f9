# What LibTorch puts into the code of an autocast region (autocast.cpp).

def _autocast_to_reduced_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: int,
                                   cpu_dtype: int) -> Tensor:
    if self.dtype != 6:  # float32
        return self
    if self.is_cuda:
        return self.to(cuda_dtype) if cuda_enabled else self
    return self.to(cpu_dtype) if cpu_enabled else self

def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    enabled = cuda_enabled if self.is_cuda else cpu_enabled
    if enabled and (self.dtype == 5 or self.dtype == 15):  # float16, bfloat16
        return self.to(6)
    return self
