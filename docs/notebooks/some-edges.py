# %% [markdown]
# # Notebook: some edges are known
#
# Eighteen people were measured a hundred times, and of half of the pairs it is known whether they
# are linked. The data are those of `graphprior demo`: they were simulated, so the whole graph is
# known too, and at the end the answer can be compared with it.

# %%
# %matplotlib inline
from importlib.resources import files

import matplotlib.pyplot as plt

import graphprior as gp
from graphprior.plots import plot_certainty, plot_graph, plot_known, plot_reliability

data = files("graphprior") / "demo"
X = gp.read_observations(data / "observations.csv")
known = gp.read_known(data / "known.csv", X.columns)
X.iloc[:3, :6].round(2)

# %% [markdown]
# `known` is a matrix: 1 is an edge, 0 is no edge, and `nan` is unknown. The prior `egonets` has
# learned what networks around one person look like.

# %%
model = gp.PartialGGM("egonets", random_state=0).fit(X, known=known)
table = model.to_pandas()
unknown = table[table["known"] == 0]
unknown[["source", "target", "probability", "edge"]].head(8).round(3)

# %% [markdown]
# On the left is what was known: lines are edges, and orange lines are pairs of which nothing was
# said. On the right is what was found.

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
plot_known(model, ax=axes[0])
plot_graph(model, ax=axes[1])

# %% [markdown]
# ## How sure is it?
#
# Most pairs are all but certain. The prior had to predict known pairs that were hidden from it, and
# `prior_gain_` says how many bits it gained for each.

# %%
gain = model.prior_gain_
print(f"{gain.bits:.2f} +- {gain.standard_error:.2f} bits for each of {gain.pairs} known pairs")
plot_certainty(model).figure

# %% [markdown]
# ## Why this edge?

# %%
doubtful = unknown.iloc[(unknown["probability"] - 0.5).abs().argmin()]
print(model.explain(doubtful["source"], doubtful["target"]))

# %% [markdown]
# ## Was it right?
#
# The true graph is at hand here. Of pairs that are said to be edges with a probability of 80%,
# about 80% should be edges.

# %%
truth = gp.read_known(data / "truth.csv", X.columns)
hidden = known != known
wrong = int(((model.adjacency_ != truth) & hidden).sum() / 2)
print(f"{wrong} of {int(hidden.sum() / 2)} unknown pairs are judged wrongly")
plot_reliability(model, truth, bins=5).figure
