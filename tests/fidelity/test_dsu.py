"""DSU: statistics of maps redrawn by their spread over the batch, once for each stage."""

import torch
from fidelity import STAGES, Case, Reference, cross_entropy, every_step


class DSU(Reference):
    """Li et al. 2022: ``(m + e S_m) + (s + e' S_s) (x - m) / s``, with S over the batch."""

    name = "dsu"

    def update(self, batch):
        stages = self.keys.get("stages", STAGES)
        chance = torch.rand(len(stages)).tolist()
        chosen = [s for s, drawn in zip(stages, chance, strict=True) if drawn < 0.5]

        def redrawn(x):
            noise = torch.randn(2, *x.shape[:2]).double()
            m = x.mean((2, 3))
            s = (x.var((2, 3)) + 1e-6).sqrt()
            m_new = m + noise[0] * (m.var(0) + 1e-6).sqrt()
            s_new = s + noise[1] * (s.var(0) + 1e-6).sqrt()
            m, s, m_new, s_new = (value[:, :, None, None] for value in (m, s, m_new, s_new))
            return (x - m) / s * s_new + m_new

        logits = self.classify(self.features(batch.image, dict.fromkeys(chosen, redrawn)))
        return self.minimise(cross_entropy(logits, batch.label))


test_every_step = every_step(
    DSU,
    {
        "everywhere": Case(),
        "early": Case({"stages": ["stage1", "stage2"]}),
        "live normalisation": Case(norm="live"),
    },
)
