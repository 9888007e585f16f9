# Recurrent layers, differentiated through their steps. The number of steps has to be known.

# One direction of one layer: gates are of [input, forget, cell, output] (LSTM), [reset, update, new]
# (GRU) or one alone (RNN).
def _gates(x: Tensor, w: Tensor, b: Optional[Tensor]) -> Tensor:
    return torch.linear(x, w, b)

def _lstm_step(x: Tensor, h: Tensor, c: Tensor, w: List[Tensor], biased: bool) -> Tuple[Tensor, Tensor]:
    g = _gates(x, w[0], w[2] if biased else None) + _gates(h, w[1], w[3] if biased else None)
    i, f, n, o = g.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(n)
    h = torch.sigmoid(o) * torch.tanh(c)
    last = 4 if biased else 2
    if len(w) > last:
        h = torch.linear(h, w[last])
    return h, c

def _gru_step(x: Tensor, h: Tensor, w: List[Tensor], biased: bool) -> Tensor:
    a = _gates(x, w[0], w[2] if biased else None)
    b = _gates(h, w[1], w[3] if biased else None)
    r1, z1, n1 = a.chunk(3, -1)
    r2, z2, n2 = b.chunk(3, -1)
    z = torch.sigmoid(z1 + z2)
    n = torch.tanh(n1 + torch.sigmoid(r1 + r2) * n2)
    return n + z * (h - n)

def _rnn_step(x: Tensor, h: Tensor, w: List[Tensor], biased: bool, relu: bool) -> Tensor:
    g = _gates(x, w[0], w[2] if biased else None) + _gates(h, w[1], w[3] if biased else None)
    return torch.relu(g) if relu else torch.tanh(g)

# kind 0: LSTM, 1: GRU, 2: RNN with tanh, 3: RNN with relu. Gives [output, h_n, c_n].
def _recurrent(kind: int, input: Tensor, h0: Tensor, c0: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> List[Tensor]:
    assert not train or dropout == 0 or num_layers == 1, "dropout between the layers in training mode"
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    layer_input = input.transpose(0, 1) if batch_first else input
    hs: List[Tensor] = []
    cs: List[Tensor] = []
    for layer in range(num_layers):
        ways: List[Tensor] = []
        for direction in range(directions):
            at = layer * directions + direction
            w = params[at * each:(at + 1) * each]
            h, c = h0.select(0, at), c0.select(0, at)
            steps: List[Tensor] = []
            order = layer_input if direction == 0 else torch.flip(layer_input, [0])
            for x in torch.unbind(order, 0):
                if kind == 0:
                    h, c = _lstm_step(x, h, c, w, has_biases)
                elif kind == 1:
                    h = _gru_step(x, h, w, has_biases)
                else:
                    h = _rnn_step(x, h, w, has_biases, kind == 3)
                steps.append(h)
            way = torch.stack(steps, 0)
            ways.append(way if direction == 0 else torch.flip(way, [0]))
            hs.append(h)
            cs.append(c)
        layer_input = torch.cat(ways, -1) if directions == 2 else ways[0]
    output = layer_input.transpose(0, 1) if batch_first else layer_input
    return [output, torch.stack(hs, 0), torch.stack(cs, 0)]

def lstm__input(input: Tensor, hx: List[Tensor], params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor, Tensor]:
    r = _recurrent(0, input, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return r[0], r[1], r[2]

def gru__input(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    r = _recurrent(1, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return r[0], r[1]

def rnn_tanh__input(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    r = _recurrent(2, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return r[0], r[1]

def rnn_relu__input(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    r = _recurrent(3, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return r[0], r[1]

def lstm_cell(input: Tensor, hx: List[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    i, f, n, o = (_gates(input, w_ih, b_ih) + _gates(hx[0], w_hh, b_hh)).chunk(4, -1)
    c = torch.sigmoid(f) * hx[1] + torch.sigmoid(i) * torch.tanh(n)
    return torch.sigmoid(o) * torch.tanh(c), c

def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    r1, z1, n1 = _gates(input, w_ih, b_ih).chunk(3, -1)
    r2, z2, n2 = _gates(hx, w_hh, b_hh).chunk(3, -1)
    n = torch.tanh(n1 + torch.sigmoid(r1 + r2) * n2)
    return n + torch.sigmoid(z1 + z2) * (hx - n)

def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return torch.tanh(_gates(input, w_ih, b_ih) + _gates(hx, w_hh, b_hh))

def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return torch.relu(_gates(input, w_ih, b_ih) + _gates(hx, w_hh, b_hh))
