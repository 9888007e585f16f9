# Searches in a table that is not known to be sorted. LibTorch halves an interval whatever lies in it, and so do these:
# they give what it gives for a table that is not sorted, or holds NaN.

def _search(table: Tensor, v: Tensor, right: bool, out_int32: bool) -> Tensor:
    n = table.size(-1)
    low = torch.zeros_like(v, dtype=4)
    length = low + n  # of the interval, which is empty for some before it is for others
    while bool(torch.any(length > 0)):  # a Loop at any size: the graph does not grow with the table
        half = torch.div(length, 2, rounding_mode="trunc")
        at = torch.clamp(low + half, max=n - 1)
        x = torch.take(table, at) if table.dim() == 1 else torch.gather(table, -1, at)
        below = torch.logical_and(torch.logical_not(x > v if right else x >= v), length > 0)
        behind = half + 1
        low = torch.where(below, low + behind, low)
        length = torch.where(below, length - behind, half)
    return low.to(3) if out_int32 else low

def searchsorted__Tensor(sorted_sequence: Tensor, self: Tensor, out_int32: bool, right: bool, side: Optional[str], sorter: Optional[Tensor]) -> Tensor:
    table = sorted_sequence if sorter is None else torch.gather(sorted_sequence, -1, sorter)
    return _search(table, self, right or (side is not None and side == "right"), out_int32)

def searchsorted__Scalar(sorted_sequence: Tensor, self: number, out_int32: bool, right: bool, side: Optional[str], sorter: Optional[Tensor]) -> Tensor:
    return searchsorted__Tensor(sorted_sequence, torch.scalar_tensor(self, dtype=torch.result_type(sorted_sequence, self)), out_int32, right, side, sorter)

def bucketize__Tensor(self: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    return _search(boundaries, self, right, out_int32)

def bucketize__Scalar(self: number, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    return bucketize__Tensor(torch.scalar_tensor(self, dtype=torch.result_type(boundaries, self)), boundaries, out_int32, right)
