"""The split of the lowest Gibbs energy at T and p for mixtures of any number of species, from many starts, in float64.

Stability: tangent-plane distances (Michelsen 1982, original not seen) minimised from trials rich in each species, from
Wilson's K both ways, from the feed as an ideal gas, from the feed without most of each species, and at random. Splits:
from each of the lowest trials, and from pairs of them; then phases that lie below the common plane take the place of
one of both. Nothing is shared with the layer: fugacities are explicit in (w, n), second derivatives are complex steps,
Newton's method lowers the energy by eigenvalues and a line search.

    ln phi_i = R_i - (p/RT) C_i - ln(p/(n RT)),  R = n (I - ln(w - B)) - D L/(RT),  V = w - C

with I = C = 0 and L = psi for cubic equations (mapped.py). Arrays have the species axis first, points last.
"""

from types import SimpleNamespace

import numpy as np

from . import cubic, mapped, species
from .oracle import OPTIONS

R = 8.31446261815324
NODES, WEIGHTS = (np.asarray(part, float) for part in np.polynomial.legendre.leggauss(24))
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2  # on (0, 1)
STEP = 1e-40  # of complex steps
TINY = 1e-60  # mole fractions are no smaller

SUBSTITUTIONS = 12  # of each trial, before Newton's method
DENSE_STEPS = 7  # of these with the smallest root, of a trial that is to be a liquid
NEWTONS = 40
STATIONARY = 1e-7  # residuals sqrt(W) |r| of a trial; tm is off by some r^2
BELOW = -1e-8  # tm of a trial that lies below a plane
APART = 1e-4  # sum of |w - z| of a phase that is another one
SHARED = 0.02  # the same of two trials that are one
LOWEST = 4  # trials from which splits begin
SPLIT_STEPS = 60
PLAIN = 8  # of these by substitution
EQUAL = 1e-8  # sqrt(v l/z) |ln f_v - ln f_l| of a split
ROUNDS = 3  # of phases below the common plane


class Fluid:
    """Constants of the equation at each point. data: SpeciesData-like; o: options as oracle.OPTIONS has them."""

    def __init__(self, data, T, p, **o):
        o = OPTIONS | o
        sp = species.arrays(data)
        equation = o["equation"]
        self.T, self.p = (np.array(x, float) for x in np.broadcast_arrays(T, p))
        self.RT, self.pi = R * self.T, self.p / (R * self.T)
        self.ns, self.b = sp.ns, cubic.ab(sp, equation)[1].astype(float)
        own = cubic.EQUATIONS["mapped"].critical(sp) if equation == "mapped" else sp
        self.Tc, self.pc = (np.asarray(x, float)[:, None] for x in (own.Tc, own.pc))
        self.omega = np.nan_to_num(np.asarray(sp.omega, float))[:, None]

        self.pairs = self.c = self.delta = None
        if o["mixing"] == "pseudocritical":
            ac, kappa, Tc = (x[:, :, None].astype(float) for x in cubic.pseudocritical_pairs(sp, o["alpha"], equation))
            self.pairs = ac * (1 + kappa * (1 - np.sqrt(self.T / Tc))) ** 2
        else:
            self.root = cubic.root_alpha(self.T.astype(species.LD), sp, o["alpha"], equation)[0].astype(float)
            self.a_ij = cubic.pair_energy(sp, equation).astype(float)
        if cubic.by_species(equation):
            self.delta = cubic.EQUATIONS[equation].delta1(sp).astype(float)
        else:
            self.d1 = float(cubic.EQUATIONS[equation].delta1)
            self.d2 = float(cubic.EQUATIONS[equation].delta2)
        if equation == "mapped":
            q = mapped.numbers(sp)
            self.c = [(self.b * np.asarray(P, float))[:, None] for P in q.P]
            tau = self.b * np.asarray(q.Q, float)
            self.swelling = 1.4 * tau[:, None] / (self.T / np.asarray(q.Tc, float)[:, None] + 0.4)

    def take(self, index):
        """The same at some points."""
        out = object.__new__(Fluid)
        for name, part in vars(self).items():
            by_point = name in ("T", "p", "RT", "pi", "root", "pairs", "swelling") and part is not None
            setattr(out, name, part[..., index] if by_point else part)
        return out

    def wilson(self):
        return self.pc / self.p * np.exp(5.373 * (1 + self.omega) * (1 - self.Tc / self.T))

    # ---- sums over species
    def products(self, x):
        """sum_j a_ij x_j"""
        if self.pairs is not None:
            return np.einsum("ijn,jn->in", self.pairs, x)
        return self.root * (self.a_ij @ (self.root * x))

    def sums(self, n):
        f = SimpleNamespace(n=n.sum(0), B=(n * self.b[:, None]).sum(0), D_i=2 * self.products(n))
        f.D = (n * f.D_i).sum(0) / 2
        if self.delta is None:
            f.d1, f.d2 = self.d1, self.d2
        else:
            f.d1 = (n * self.delta[:, None]).sum(0) / f.n
            f.d2 = (1 - f.d1) / (1 + f.d1)
            f.delta_i = (self.delta[:, None] - f.d1) / f.n
        if self.c is not None:
            f.c = [(n * c).sum(0) for c in self.c]
            f.tau = (n * self.swelling).sum(0)
        return f

    # ---- one phase
    def parts(self, f, w):
        """R_i, C_i and p/(RT) of sums f at the root w; complex or not."""
        B, x, inv_RT = f.B, f.B / w, 1 / self.RT
        b = self.b[:, None]
        Delta = self._delta(f, x)
        pi = f.n / (w - B) - f.D * inv_RT / (w * w * Delta)

        # Repulsion K and attraction L, with their slopes in n_i.
        K = -np.log(w - B)
        K_i = b / (w - B)
        C_i = 0.0
        if self.delta is None:
            L, L_i = self._attraction(f, x, Delta)
        else:
            L, L_i, moments = self._attraction_of_shapes(f, x)

        if self.c is not None:
            more_K, more_K_i, more_L, more_L_i = self._by_the_map(f, x, Delta, moments)
            K, K_i = K + more_K, K_i + more_K_i
            L, L_i = L + more_L, L_i + more_L_i
            C_i = self._translation(f, x)

        R_i = K + f.n * K_i - (f.D_i * L + f.D * L_i) * inv_RT
        return R_i, C_i, pi

    @staticmethod
    def _delta(f, x):
        """(1 + delta_1 x)(1 + delta_2 x)"""
        u, q = f.d1 + f.d2, f.d1 * f.d2
        return 1 + u * x + q * x * x

    def _attraction(self, f, x, Delta):
        """L and L_i of an equation whose delta_1 and delta_2 are the same for all species."""
        B, gap = f.B, f.d1 - f.d2
        psi = x / B if gap == 0 else np.log((1 + f.d1 * x) / (1 + f.d2 * x)) / (gap * B)
        return psi, self.b[:, None] * (x / (B * B * Delta) - psi / B)

    def _attraction_of_shapes(self, f, x):
        """L and L_i where delta_1 depends on the composition, by quadrature on (0, x); and its moments, a function."""
        B, b = f.B, self.b[:, None]
        y = NODES[:, None] * x
        over = WEIGHTS[:, None] * x / self._delta(f, y)
        slope = 1 - 2 / ((1 + f.d1) * (1 + f.d1))  # of u = delta_1 + delta_2 in delta_1; delta_1 delta_2 = 1 - u
        weights = (over * over) * (y - y * y) / (WEIGHTS[:, None] * x)

        def moment(k):
            """(integral of y^k/Delta, its slope in delta_1)"""
            return (y**k * over).sum(0), -slope * (y**k * weights).sum(0)

        J, J_d = moment(0)
        L = J / B
        L_B = x / (B * B * self._delta(f, x)) - J / (B * B)
        L_d = J_d / B
        return L, L_B * b + L_d * f.delta_i, moment

    def _by_the_map(self, f, x, Delta, moment):
        """Additions to K, K_i, L and L_i by the volume map of equation `mapped`, sum_k c_k x^k."""
        B, b = f.B, self.b[:, None]
        K, K_i, L, L_i = 0.0, 0.0, 0.0, 0.0
        power, I = 1.0, -np.log(1 - x)

        for k in (1, 2, 3):
            power = power * x  # x^k
            I = I - power / k  # integral of y^k/(1 - y)
            J, J_d = moment(k + 1)
            c, c_i = f.c[k], self.c[k]

            K = K + k * c * I / B
            K_i = K_i + b * (k * c * (x * power / (1 - x) - I) / (B * B)) + k * I / B * c_i

            L_B = k * c * (x * x * power / Delta - 2 * J) / (B * B * B)
            L_d = k * c * J_d / (B * B)
            L = L + k * c * J / (B * B)
            L_i = L_i + L_B * b + L_d * f.delta_i + k * J / (B * B) * c_i

        return K, K_i, L, L_i

    def _translation(self, f, x):
        """C_i = dC/dn_i of V = w - C."""
        of_species = self.c[0] + x * (self.c[1] + x * (self.c[2] + x * self.c[3])) - self.swelling
        moment = x * (f.c[1] + x * (2 * f.c[2] + x * 3 * f.c[3]))
        return of_species + self.b[:, None] * moment / f.B

    def _ln_phi(self, f, w):
        R_i, C_i, _ = self.parts(f, w)
        return R_i - self.pi * C_i - np.log(self.pi / f.n)

    def roots(self, f):
        """Smallest and largest w of one mole at p, by Newton's method from outside and bisection."""
        A, B = f.D * self.pi / self.RT, f.B * self.pi
        u, q = f.d1 + f.d2, f.d1 * f.d2
        c2, c1, c0 = (2 + u) * B - 1, (1 + u + q) * B * B - (2 + u) * B + A, -(1 + u + q) * B * B
        bend = np.sqrt(np.maximum(c2 * c2 - 3 * c1, 0))
        bottom = (-c2 + bend) / 3
        top = np.where(bottom != 0, c1 / np.where(bottom == 0, 1, 3 * bottom), 0)

        def value(x):
            return ((x + c2) * x + c1) * x + c0

        folded = (c2 * c2 > 3 * c1) & (top > 0) & (bottom > top)
        has_small, has_large = folded & (value(top) >= 0), ~folded | (value(bottom) <= 0)
        small = _zero(value, c2, c1, 0 * A, np.where(has_small, top, 1.0), 0 * A)
        large = _zero(value, c2, c1, np.where(has_large & folded, bottom, 0.0), 1 + 0 * A, 1 + 0 * A)
        small = np.where(has_small, small, large)
        large = np.where(has_large, large, small)
        return small / self.pi + f.B, large / self.pi + f.B

    def phase(self, x, dense=False):
        """ln phi and w of one mole of x: the root of lower Gibbs energy; the smallest where `dense`."""
        f = self.sums(x)
        small, large = self.roots(f)
        ln_phi, w = self._ln_phi(f, small), small
        two = np.flatnonzero((large > small * (1 + 1e-12)) & ~np.broadcast_to(dense, small.shape))
        if two.size:
            some = self.take(two)
            other = some._ln_phi(some.sums(x[:, two]), large[two])
            lower = (x[:, two] * (other - ln_phi[:, two])).sum(0) < 0
            ln_phi[:, two[lower]], w[two[lower]] = other[:, lower], large[two[lower]]
        return ln_phi, w

    def ln_phi(self, x):
        return self.phase(x)[0]

    def curvature(self, x, w):
        """d ln phi_i/dn_j (points, ns, ns) at constant p of one mole of x with the root w."""
        out = np.empty((x.shape[1], self.ns, self.ns))
        by_w = self._slope(x, w, None)
        for j in range(self.ns):
            of_n = self._slope(x, w, j)
            out[:, :, j] = (of_n[0] - by_w[0] * of_n[1] / by_w[1]).T
        return (out + out.transpose(0, 2, 1)) / 2

    def _slope(self, x, w, j):
        """Slopes of ln phi and of p/(RT) in n_j, or in w."""
        n, w = x.astype(complex), w.astype(complex)
        h = STEP * (x.sum(0) if j is not None else w.real)
        if j is None:
            w = w + 1j * h
        else:
            n[j] += 1j * h
        f = self.sums(n)
        R_i, C_i, pi = self.parts(f, w)
        ln_phi = R_i - self.pi * C_i + np.log(f.n)
        return ln_phi.imag / h, pi.imag / h


def _zero(f, c2, c1, low, high, x):
    """The zero of a rising cubic f between low and high, from x."""
    for _ in range(100):
        value = f(x)
        low, high = np.where(value < 0, x, low), np.where(value < 0, high, x)
        slope = (3 * x + 2 * c2) * x + c1
        new = x - value / np.where(slope == 0, 1e-300, slope)
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        done = np.abs(new - x) <= 4e-16 * np.abs(new)
        x = np.where(np.abs(value) == 0, x, new)
        if done.all():
            break
    return x


# ---- stability


def starts(fluid, z, d, random, extra=2):
    """Trial compositions (starts, ns, points)."""
    ns, n = z.shape
    K = fluid.wilson()
    out = [z * K, np.exp(d - d.max(0)), z * np.cbrt(K), z / K, z / K**0.7, z / K**0.5, z / K**0.3]
    for k in range(ns):
        rich = np.full((ns, n), 1e-4 / ns)
        rich[k] = 1.0
        out.append(rich)
        if ns > 2:
            out.append(np.where(np.arange(ns)[:, None] == k, 1.0, 0.15 * z))
        less = z.copy()
        less[k] *= 1e-3
        out.append(less)
    out.extend(random.dirichlet(np.full(ns, 0.5), n).T for _ in range(extra))
    return np.stack([_fractions(w) for w in out])


def _fractions(w):
    w = np.maximum(w, TINY * w.max(0))
    return w / w.sum(0)


def trials(fluid, z, d, w0):
    """Stationary points of the tangent-plane distance of plane d from w0 (starts, ns, points): W and tm. Starts from
    the fourth on are to be liquids: they have the smallest root at first."""
    many, ns, n = w0.shape
    index, is_liquid = np.tile(np.arange(n), many), np.repeat(np.arange(many) > 2, n)
    ln_W = np.log(w0).transpose(1, 0, 2).reshape(ns, -1)
    way = SimpleNamespace(last=ln_W.copy(), trust=np.ones(index.size), least=np.full(index.size, np.inf))
    found, tm = ln_W.copy(), np.zeros(index.size)

    go_on = np.arange(index.size)
    for step in range(SUBSTITUTIONS + NEWTONS):
        some, at, here = fluid.take(index[go_on]), index[go_on], ln_W[:, go_on]
        amounts = np.exp(np.minimum(here, 200))
        w = np.maximum(amounts / amounts.sum(0), TINY)
        dense = is_liquid[go_on] & (step < DENSE_STEPS)
        ln_phi, root = some.phase(w, dense)
        r = here + ln_phi - d[:, at]
        now = 1 + (amounts * (r - 1)).sum(0)
        found[:, go_on], tm[go_on] = here, np.where(np.isfinite(now), now, 0.0)

        if step < SUBSTITUTIONS:
            change = -r
        else:
            change = _downhill(some, way, go_on, here, amounts, w, root, r, now)
        ln_W[:, go_on] = here + np.clip(change, -20, 20)

        # Stationary, or the feed itself
        stationary = (np.sqrt(amounts) * np.abs(r)).max(0) < STATIONARY
        itself = (np.abs(w - z[:, at]).sum(0) < APART) & (np.abs(now) < 1e-8)
        go_on = go_on[~((~dense & (stationary | itself)) | ~np.isfinite(now))]
        if not go_on.size:
            break

    W = np.exp(np.minimum(found, 200)).reshape(ns, many, n).transpose(1, 0, 2)
    return W, tm.reshape(many, n)


def _downhill(fluid, way, points, here, amounts, w, root, r, tm):
    """Steps in ln W by Newton's method, within a region of trust; most of the way back where tm has grown."""
    worse = tm > way.least[points] + 1e-13
    trust = np.where(worse, way.trust[points] / 4, np.minimum(1.0, 2 * way.trust[points]))
    S, phi = np.sqrt(amounts), fluid.curvature(w, root) / amounts.sum(0)[:, None, None]
    newton = -_newton(np.eye(len(S)) + S.T[:, :, None] * phi * S.T[:, None, :], S, phi, r)
    newton = newton * np.minimum(1, 3 * trust / np.maximum(np.abs(newton).max(0), 1e-300))

    back = worse & (trust > 1e-3)
    change = np.where(back, -0.7 * (here - way.last[:, points]), newton)
    way.last[:, points] = np.where(back, way.last[:, points], here)
    way.least[points] = np.where(worse, way.least[points], tm)
    way.trust[points] = trust
    return change


def _newton(H, S, phi, r):
    """Step -(r + Phi S q), (I + S Phi S) q = -S r with the absolute values of the eigenvalues: downhill. Its sign is
    turned."""
    value, vectors = np.linalg.eigh(H)
    value = np.maximum(np.abs(value), 1e-3)
    g = np.einsum("nki,kn->ni", vectors, S * r) / value
    q = -np.einsum("nik,nk->in", vectors, g)
    definite = np.linalg.eigvalsh(H)[:, 0] > 0
    exact = r + np.einsum("nij,jn->in", phi, S * q)
    plain = -q / np.maximum(S, 1e-8)
    return np.where(definite, exact, np.where(S > 1e-6, plain, r))


# ---- two phases


def gibbs(fluid, beta, x, y):
    """Gibbs energy over RT of one mole of two phases, less that of the species as ideal gases at p."""

    def part(w):
        w = np.maximum(w, TINY)
        return (w * (np.log(w) + fluid.ln_phi(w))).sum(0)

    return beta * part(y) + (1 - beta) * part(x)


def rachford_rice(z, K):
    """beta (n,) in [0, 1], by bisection and Newton's method."""
    k = K - 1
    low, high = np.zeros(z.shape[1]), np.ones(z.shape[1])
    beta = 0.5 * np.ones(z.shape[1])
    for _ in range(60):
        d = k / (1 + beta * k)
        f, slope = (z * d).sum(0), -(z * d * d).sum(0)
        low, high = np.where(f > 0, beta, low), np.where(f < 0, beta, high)
        new = beta - f / np.minimum(slope, -1e-300)
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        if np.all(np.abs(new - beta) < 1e-15):
            break
        beta = new
    return beta


class _Pair:
    """Two phases of a feed (ns, n). here: ln of the amounts of the vapour over those of the liquid, (ns, n)."""

    def __init__(self, fluid, feed, here):
        self.fluid, self.feed = fluid, feed
        self.v = feed / (1 + np.exp(-here))
        self.l = feed / (1 + np.exp(here))
        self.beta, self.rest = self.v.sum(0), self.l.sum(0)
        self.y, self.x = np.maximum(self.v / self.beta, TINY), np.maximum(self.l / self.rest, TINY)
        (self.phi_y, self.root_y), (self.phi_x, self.root_x) = fluid.phase(self.y), fluid.phase(self.x)

        # The gradient of the Gibbs energy, and the energy
        self.r = np.log(self.y) + self.phi_y - np.log(self.x) - self.phi_x
        of_y = self.v * (np.log(self.y) + self.phi_y)
        of_x = self.l * (np.log(self.x) + self.phi_x)
        self.g = of_y.sum(0) + of_x.sum(0)

        self.S = np.sqrt(self.v * self.l / feed)
        self.size = (self.S * np.abs(self.r)).max(0) / np.sqrt(np.minimum(self.beta, self.rest))

    @property
    def is_one(self):
        """The points where the phases are the same, one of them is gone, or the energy is NaN."""
        gone = np.minimum(self.beta, self.rest) < 1e-14
        return ~np.isfinite(self.g) | gone | (np.abs(self.y - self.x).sum(0) < 1e-7)

    def substituted(self):
        """The next `here` by the equation of Rachford & Rice."""
        ln_K = self.phi_x - self.phi_y
        beta = rachford_rice(self.feed, np.exp(np.clip(ln_K, -300, 300)))
        beta = np.clip(beta, 0.1 * self.beta, 1 - 0.1 * self.rest)
        return ln_K + np.log(beta / (1 - beta))

    def downhill(self, at):
        """The change of `here` at the points `at` by Newton's method on the Gibbs energy."""
        fluid, S = self.fluid.take(at), self.S[:, at]
        beta, rest, root = self.beta[at], self.rest[at], S.T
        H = fluid.curvature(self.y[:, at], self.root_y[at]) / beta[:, None, None]
        H = H + fluid.curvature(self.x[:, at], self.root_x[at]) / rest[:, None, None]
        H = H - (1 / beta + 1 / rest)[:, None, None]
        return -_newton(np.eye(len(S)) + root[:, :, None] * H * root[:, None, :], S, H, self.r[:, at])


def _first_vapour(z, w, x):
    """Amounts of the phase that begins as w beside the rest of z, or beside x."""
    w = _fractions(w)
    if x is None:
        part = 0.5 * np.where(w > 1e-12, z / w, np.inf).min(0)
        part = np.clip(part, 1e-12, 0.5)
        return np.minimum(part * w, z * (1 - 1e-9))

    K = w / np.maximum(x, TINY)
    beta = np.clip(rachford_rice(z, K), 1e-3, 1 - 1e-3)
    return z * beta * K / (1 - beta + beta * K)


def split(fluid, z, w, x=None):
    """Two phases of z that begin from w beside the rest of z, or beside x: beta, x, y, g; g is infinite where there are
    none."""
    n = z.shape[1]
    v = _first_vapour(z, w, x)
    ln_kappa = np.log(np.maximum(v, TINY)) - np.log(np.maximum(z - v, TINY))
    out = SimpleNamespace(v=v.copy(), g=np.full(n, np.inf), size=np.full(n, np.inf))

    best, kept = out.g, ln_kappa.copy()
    open_, trust, substitutes = np.arange(n), np.ones(n), np.ones(n, bool)

    for step in range(SPLIT_STEPS):
        here = np.clip(ln_kappa[:, open_], -300, 300)
        pair = _Pair(fluid.take(open_), z[:, open_], here)

        # The lowest energy so far
        better = ~pair.is_one & (pair.g <= best[open_] + 1e-14)
        lower = open_[better]
        best[lower], out.size[lower] = pair.g[better], pair.size[better]
        out.v[:, lower], kept[:, lower] = pair.v[:, better], here[:, better]
        ended = (better & (pair.size < EQUAL)) | (trust[open_] < 1e-4)

        # Substitution while that lowers the energy, then Newton's method; back where the energy has grown
        plain = better & substitutes[open_] & (step < PLAIN)
        substitutes[open_] = plain
        trust[open_] = np.where(plain, 1, np.where(better, np.minimum(1, 2 * trust[open_]), trust[open_] / 4))
        new = np.where(better, pair.substituted(), kept[:, open_] + 0.25 * (here - kept[:, open_]))

        turn = np.flatnonzero(better & ~plain)
        if turn.size:
            change = pair.downhill(turn)
            longest = np.maximum(np.abs(change).max(0), 1e-300)
            new[:, turn] = here[:, turn] + change * np.minimum(1, 3 * trust[open_[turn]] / longest)

        ln_kappa[:, open_] = new
        open_ = open_[~ended]
        if not open_.size:
            break

    liquid = z - out.v
    out.beta = out.v.sum(0)
    out.y, out.x = np.maximum(out.v / out.beta, TINY), np.maximum(liquid / liquid.sum(0), TINY)
    out.g = np.where((out.size < 1e-3) & (np.abs(out.x - out.y).sum(0) > APART), best, np.inf)
    return out


# ---- the state


def lowest(W, tm, z, many=LOWEST):
    """For each point the indices of its lowest trials that are below the plane and differ, lowest first; -1: none."""
    order = np.argsort(tm, axis=0)
    n = z.shape[1]
    chosen = np.full((many, n), -1)
    w = W / W.sum(1, keepdims=True)
    points = np.arange(n)
    count = np.zeros(n, int)
    for k in order:
        here = w[k, :, points].T
        good = tm[k, points] < BELOW
        for j in range(many):
            other = w[chosen[j], :, points].T
            good &= (chosen[j] < 0) | (np.abs(here - other).sum(0) > SHARED)
        good &= count < many
        chosen[count[good], points[good]] = k[good]
        count += good
    return chosen


def flash(data, T, p, z, seed=0, extra=2, **o):
    """The state of the lowest Gibbs energy found at T, p of feeds z (ns, n): g, g_one (as one phase), two (bool), beta,
    x, y; tm, the least distance of a phase below the feed's plane; third, that below the plane of the state: a third
    phase would lower its Gibbs energy. extra: random trials."""
    z = _fractions(np.asarray(z, float))
    T, p, _ = np.broadcast_arrays(T, p, z[0])
    fluid, random = Fluid(data, T, p, **o), np.random.default_rng(seed)
    n = z.shape[1]
    d = np.log(z) + fluid.ln_phi(z)
    s = SimpleNamespace(g=(z * d).sum(0), beta=np.zeros(n), x=z.copy(), y=z.copy(), two=np.zeros(n, bool))
    s.g_one, s.third = s.g.copy(), np.zeros(n)

    # From each of the lowest trials, and from pairs of them
    W, tm = trials(fluid, z, d, starts(fluid, z, d, random, extra))
    s.tm = tm.min(0)
    chosen = lowest(W, tm, z)
    for i in range(LOWEST):
        for j in range(-1, i):
            _try(fluid, s, z, W, chosen[i], None if j < 0 else chosen[j])

    # From phases below the plane of the state
    at = np.flatnonzero(s.tm < BELOW)
    some, beside = fluid.take(at), _each(chosen, W)[:, :, at]
    for turn in range(ROUNDS if at.size else 0):
        W, tm = _below(some, s, at, beside, random, extra)
        s.third[at] = np.minimum(tm.min(0), 0)
        index = at[s.third[at] < BELOW]
        if turn == ROUNDS - 1 or not index.size:
            break
        before, lower = s.g.copy(), np.flatnonzero(s.third[at] < BELOW)
        w = W[tm[:, lower].argmin(0), :, lower].T
        for other in (s.x[:, index].copy(), s.y[:, index].copy(), None):
            _keep(s, index, split(fluid.take(index), z[:, index], w, other))
        if (s.g >= before - 1e-12).all():
            break
    return s


def _below(fluid, s, at, beside, random, extra):
    """Trials from the common plane of the states `at`: of each species that of the phase which has more of it."""
    x, y = s.x[:, at], s.y[:, at]
    d = np.where(x > y, np.log(x) + fluid.ln_phi(x), np.log(y) + fluid.ln_phi(y))
    of_x, of_y = starts(fluid, x, d, random, extra), starts(fluid, y, d, random, 0)[:7]
    begin = np.concatenate([of_x, of_y, np.maximum(beside, TINY)])
    return trials(fluid, x, d, begin / begin.sum(1, keepdims=True))


def _each(chosen, W):
    """The chosen trials (many, ns, n), and the first trial where there are none."""
    points = np.arange(W.shape[2])
    return np.stack([W[np.maximum(k, 0), :, points].T for k in chosen])


def _try(fluid, s, z, W, first, second):
    index = np.flatnonzero((first >= 0) & (True if second is None else second >= 0))
    if index.size:
        w = W[first[index], :, index].T
        x = None if second is None else _fractions(W[second[index], :, index].T)
        _keep(s, index, split(fluid.take(index), z[:, index], w, x))


def _keep(s, index, found):
    lower = found.g < s.g[index] - 1e-12
    at = index[lower]
    s.g[at], s.beta[at], s.two[at] = found.g[lower], found.beta[lower], True
    s.x[:, at], s.y[:, at] = found.x[:, lower], found.y[:, lower]
