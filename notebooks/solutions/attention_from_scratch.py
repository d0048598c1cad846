# %% [markdown]
# Solutions of the exercises in `attention_from_scratch.py`. Each cell replaces the one there that defines the same
# name.


# %%
def entropy(weights):
    safe = np.where(weights > 0, weights, 1.0)  # log 1 = 0
    return -(weights * np.log2(safe)).sum(-1)


# %%
def soften(scores, temperature):
    shifted = np.exp((scores - scores.max(-1, keepdims=True)) / temperature)
    return shifted / shifted.sum(-1, keepdims=True)


# %%
def masked_softmax(scores, allowed):
    weights = np.zeros(scores.shape)
    if allowed.any():
        weights[allowed] = soften(scores[allowed], 1.0)
    return weights


# %%
def bilinear(query, keys, W):
    return keys @ (W.T @ query)


# %%
def query_gradient(query, keys, g):
    w = soften(keys @ query, 1.0)
    to_weights = keys @ g  # of the loss with respect to each weight
    to_scores = w * (to_weights - w @ to_weights)
    return keys.T @ to_scores


# %%
class Bahdanau(Writer):
    def __init__(self):
        super().__init__()
        self.reader = both_ways(SIZE)
        self.attention = Attention(Additive(query=SIZE, key=SIZE, hidden=SIZE), Softmax())

    def read(self, word):
        return self.attention.prepare(self.reader(word)[0])

    def context(self, state, read):
        look = self.attention(state[:, None], read)
        return look.context[:, 0], look
