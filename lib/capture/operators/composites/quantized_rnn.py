# Recurrent layers whose weights are integers: products with the input are made for all steps at
# once, so that the input has one scale; the hidden state gets its own at every step.
# https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/RNN.cpp

def _cell_product(x: Tensor, cell: __torch__.torch.classes.rnn.CellParamsBase, which: int) -> Tensor:
    kind, _tensors, _floats, flags, packed = cell.__getstate__()
    if kind == "quantized_dynamic":
        return ops.quantized.linear_dynamic(x, packed[which], flags[0] != 0)
    assert kind == "quantized_fp16", "a recurrent layer of this kind of weights has no form in ONNX yet"
    return ops.quantized.linear_dynamic_fp16(x, packed[which])

def _lstm_step(gates: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c

def _gru_step(of_input: Tensor, of_hidden: Tensor, h: Tensor) -> Tensor:
    ir, iz, n = of_input.chunk(3, 1)
    hr, hz, hn = of_hidden.chunk(3, 1)
    n = torch.tanh(n + hn * torch.sigmoid(hr + ir))
    return (h - n) * torch.sigmoid(hz + iz) + n

def _lstm_layer(x: Tensor, h: Tensor, c: Tensor, cell: __torch__.torch.classes.rnn.CellParamsBase, backward: bool) -> Tuple[Tensor, Tensor, Tensor]:
    steps = _cell_product(x, cell, 0)
    if backward:
        steps = steps.flip([0])
    states: List[Tensor] = []
    for t in range(x.size(0)):
        h, c = _lstm_step(_cell_product(h, cell, 1) + steps[t], c)
        states.append(h)
    y = torch.stack(states)
    if backward:
        y = y.flip([0])
    return y, h, c

def _gru_layer(x: Tensor, h: Tensor, cell: __torch__.torch.classes.rnn.CellParamsBase, backward: bool) -> Tuple[Tensor, Tensor]:
    steps = _cell_product(x, cell, 0)
    if backward:
        steps = steps.flip([0])
    states: List[Tensor] = []
    for t in range(x.size(0)):
        h = _gru_step(steps[t], _cell_product(h, cell, 1), h)
        states.append(h)
    y = torch.stack(states)
    if backward:
        y = y.flip([0])
    return y, h

def quantized_lstm__input(input: Tensor, hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, dtype: Optional[int], use_dynamic: bool) -> Tuple[Tensor, Tensor, Tensor]:
    assert not train or dropout == 0, "dropout of a quantized layer draws nothing in inference only"
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    h: List[Tensor] = []
    c: List[Tensor] = []
    for layer in range(num_layers):
        of_directions: List[Tensor] = []
        for d in range(directions):
            k = layer * directions + d
            y, hk, ck = _lstm_layer(x, hx[0][k], hx[1][k], params[k], d == 1)
            of_directions.append(y)
            h.append(hk)
            c.append(ck)
        x = torch.cat(of_directions, 2)
    return x.transpose(0, 1) if batch_first else x, torch.stack(h), torch.stack(c)

def quantized_gru__input(input: Tensor, hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    assert not train or dropout == 0, "dropout of a quantized layer draws nothing in inference only"
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    h: List[Tensor] = []
    for layer in range(num_layers):
        of_directions: List[Tensor] = []
        for d in range(directions):
            k = layer * directions + d
            y, hk = _gru_layer(x, hx[k], params[k], d == 1)
            of_directions.append(y)
            h.append(hk)
        x = torch.cat(of_directions, 2)
    return x.transpose(0, 1) if batch_first else x, torch.stack(h)
