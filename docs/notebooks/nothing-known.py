# %% [markdown]
# # Notebook: nothing is known
#
# Forty sensors stand in five rows of eight, and each influences its neighbours. Nobody has told us
# so: there are a hundred and fifty measurements, and the knowledge that the graph is some kind of
# grid. (The data are simulated here, so that the answer can be checked.)

# %%
# %matplotlib inline
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

import graphprior as gp
from graphprior.plots import plot_graph, plot_prior_and_data, plot_summary

grid = nx.grid_2d_graph(5, 8)
truth = nx.to_numpy_array(grid)
covariance = np.linalg.inv(np.eye(40) - 0.24 * truth)
rng = np.random.default_rng(0)
rows = rng.multivariate_normal(np.zeros(40), covariance, size=150)
X = pd.DataFrame(rows, columns=[f"r{row}c{column}" for row, column in grid])

# %% [markdown]
# Without a prior, all pairs are alike, and how common edges are is estimated from the data. The
# prior `grids` has learned from examples what grids look like, but not which sensor stands where.

# %%
plain = gp.PartialGGM(None, random_state=0).fit(X)
model = gp.PartialGGM("grids", random_state=0).fit(X)
for name, fitted in {"no prior": plain, "grids": model}.items():
    missed = int(((fitted.adjacency_ == 0) & (truth == 1)).sum() / 2)
    false = int(((fitted.adjacency_ == 1) & (truth == 0)).sum() / 2)
    print(f"{name:>8}: of {grid.number_of_edges()} edges {missed} missed, and {false} false ones")

# %% [markdown]
# Drawn in the places where the sensors stand, edges that are found between neighbours are short
# lines along the rows and columns; all others are false.

# %%
places = {name: (column, -row) for name, (row, column) in zip(X.columns, grid, strict=True)}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, fitted, title in zip(axes, (plain, model), ("no prior", "grids"), strict=True):
    plot_graph(fitted, places, ax=ax)
    ax.set_title(title)

# %% [markdown]
# ## What comes from the prior, and what from the data?
#
# Each point is a pair. To the right is what speaks for an edge in the data, and above what speaks
# for it in the prior, given the other pairs.

# %%
plot_prior_and_data(model).figure

# %% [markdown]
# With nothing known, there are no known pairs on which the prior could be checked. It is checked on
# whether it predicts what the data say about a pair from what they say about all others, which is
# weaker evidence.

# %%
gain = model.prior_gain_
print(f"the prior gains {gain.bits:.3f} +- {gain.standard_error:.3f} bits per pair")

# %% [markdown]
# ## Questions about the whole graph
#
# Probabilities of single pairs do not add up to statements about the graph. For these, draw whole
# graphs: here the number of neighbours of each sensor, with intervals of 95%.

# %%
drawn = gp.PartialGGM("grids", engine=gp.Gibbs(draws=50), random_state=0).fit(X)
plot_summary(drawn, "degree").figure
