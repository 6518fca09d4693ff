"""Check a certificate of dpbb: this file alone, with Python; Numba makes it fast.

    python checker.py certificate.json.gz [--nodes 2000000] [--all] [--seed N]

It shares no code with the solver. It recomputes the makespan of the schedules, adds up
the books of the run, and explores the tree again, or parts of it, with a bound and a
branching rule of its own, which must give the same counts to the last node. Where Numba
is installed and much is to be explored, that is compiled: hundreds of times as fast.
``docs/proof.md`` says what that proves, and what it does not. Exit codes: 0 proved
again, or audited; 1 it does not hold; 2 no certificate; 3 not checked enough; 4 only
sampled.
"""

import argparse
import base64
import gzip
import hashlib
import json
import math
import os
import random
import re
import struct
import sys
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict, deque, namedtuple
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import cache
from itertools import accumulate, cycle, product
from math import inf
from operator import add, lt, sub
from statistics import fmean, variance
from time import monotonic

FORMAT, PLAIN_RULES, EQUAL_JOBS_RULES = "dpbb-certificate", 1, 2
SCHEMA, OLD_SCHEMA = 2, 1  # the old one has no bounds, and lists 64 roots at most
ROOT_SCHEMA = 3  # of a run that needed no tree, or not all of it: no books
MOST_STEPS = 2_000_000  # pairs of machines times jobs: of more no LB2 is computed
KIND = "flowshop-makespan"  # all that this file can explore
KNOWN = (
    "lb1",
    "lb2",
    "cascade",
)  # bounds; the last in full: cascade:FIRST-LAST:u-v,u-v,...
NUMBER = "(?:0|[1-9][0-9]{0,3})"
PAIR = f"{NUMBER}-{NUMBER}"
CASCADE = re.compile(f"cascade:({NUMBER})-({NUMBER}):({PAIR}(?:,{PAIR})*)")
MOST_JOBS = MOST_MACHINES = 1024
MOST_TIME = 2**30  # of all operations together
PATIENCE_S = 3.0  # of exploring in plain Python; then a compiler is worth while
SLOW = "Numba is not installed, or cannot be used: plain Python explores"
SLOW += ", about 20,000 nodes a second or fewer"
VECTOR = 32  # jobs whose bounds are computed at once, where that is compiled
SLICE = 2**32  # steps of children's bounds: then a thread says what is left
LANE = 32  # bits for each job in ``Lanes``: a value below 2 * MOST_TIME, and a guard
RULES = ("minmin", "minbranch", "maxsum", "alternate", "front", "back")
MOST_BYTES = 2**27  # of a certificate that is not compressed
FEW_ROOTS, MAX_ROOTS = 64, 4096  # listed as they are; packed; of more, only the number
PACKED_ROOTS = 400_000  # in all
PACKED_DIGITS = 20_000_000  # of these; a run takes a root to have as many as jobs
MOST_PARTS = 1_000_000  # roots of units without those that were made from them
MAX_ENTRIES, LISTED_BYTES = 20_000, 5_000_000  # a run lists no unit beyond the first
MOST_LEASES = 2 * LISTED_BYTES // 32
SURE = 10_000  # a true certificate is refused by chance once in so many times
LEAST_DRAWS = 10  # of both kinds, or too little was checked
DRAWS = 40
PART = 10  # of the budget: a tree that claims more is explored as a whole in it
INSIDE = 10  # random descents for each draw in a unit too large to be explored again
STEPS = 1000  # fewer where they would have more steps than this
MOST_BELOW = 1_000_000  # nodes below one of them, however large the budget is
FEW = 8  # nodes that each of these may explore again, however small the budget is
STRATA, ROOTS = 16, 32  # of each depth, in a walk that estimates
LEAST_WALK = 640  # nodes of it, at most, however small the budget is
MOST_WALK = 500_000  # however large the budget is
WIDE = 1000  # ends of an interval that says next to nothing
# 97.5 % points of Student's t with 1, 2, ... degrees of freedom
STUDENT = 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228
PROVED, AUDITED, SAMPLED = "proved again", "audited", "sampled"
TOO_LITTLE = "not checked enough"
EXIT = {PROVED: 0, AUDITED: 0, TOO_LITTLE: 3, SAMPLED: 4}
DAMAGED = EOFError, gzip.BadGzipFile, zlib.error, ValueError, RecursionError
factorial = cache(math.factorial)


class Failed(Exception):
    """A check that failed: what was expected, and what the certificate says."""


def expect(ok, text):
    """Raise Failed unless a fact holds."""
    if not ok:
        raise Failed(text)


def read(path):
    """Return a certificate, uncompressed or not; ValueError if it is none."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if packed else open)(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        certificate = json.loads(text) if len(text) <= MOST_BYTES else "a huge file"
    except DAMAGED as error:
        raise ValueError(f"another file, or a damaged one: {error}") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise ValueError("another file")
    if certificate.get("schema") not in (SCHEMA, OLD_SCHEMA, ROOT_SCHEMA):
        raise ValueError(f"one of another schema than {OLD_SCHEMA} to {ROOT_SCHEMA}")
    return certificate


# -- the form --------------------------------------------------------------------------


def maybe(form):
    """Form of what may be null."""
    return lambda value: None if value is None else misfit(value, form)


def roots_form(value):
    """Form of the roots of a unit: paths, packed paths, or null."""
    form = str if type(value) is str else [[int]]
    return None if value is None else misfit(value, form)


COUNTS = {"decomposed": int, "leaves": int, "closed": [(int, int)]}
LEASE = (int, int, str, str, int, int, [(int, int)], (int, int), bool, str)
TREE = {"rule_version": int, "branching": str, "branching_ub": maybe(int)}
TREE |= {"bound": str, "root_order": maybe([int])}
SHOP = {
    "instance": {"name": str, "digest": str, "times": [[int]]}
    | {"kind?": str, "bound?": str, "front?": [int], "back?": [int]},
    "tree": TREE | {"n_jobs?": int, "trivial_ub?": int},
}
OTHER = {  # of another kind: what its books need; the family knows the rest
    "instance": {"kind": str, "digest": str, "*": None},
    "tree": TREE | {"n_jobs": int, "trivial_ub": int},
}
HEAD = {"format": str, "schema": int}
RESULT = {"versions?": [(str, str)], "objective?": str, "engine?": str}
RESULT |= {"status": str, "lower_bound": int, "seconds?": float}
FORM = HEAD | {
    "result": {"makespan": maybe(int), "permutation": maybe([int])}
    | {"ub": int, "all_optima": bool, **RESULT},
    "totals": COUNTS,
    "units": [(int, int, str, int, roots_form)],  # id, parent, leaves, number, roots
    "leases": [LEASE],  # unit, attempt, seat, engine, counts, UBs, alone, version
    "rest": COUNTS,
}
ROOT_FORM = HEAD | {"result": {"makespan": int, "permutation": [int], **RESULT}}
BOUNDS = {"bounds": [(int, maybe([int]))]}  # pruned at, and the schedule that it is of


def misfit(value, form):
    """Where a value is not of a form, such as ``[3][1]``; None if it is. ints: >= 0."""
    if isinstance(form, type):
        fits = type(value) is form and (form is not int or 0 <= value < 2**63)
        return None if fits else ""
    if callable(form):
        return form(value)
    if type(value) is not (dict if isinstance(form, dict) else list):
        return ""
    if isinstance(form, dict):
        known = {key.rstrip("?"): key for key in form}
        for key in value:
            if key not in known and "*" not in form:
                return f"[{ascii(key)[:40]}]"
        parts = [
            (name, value.get(name, ...), form[key])
            for name, key in known.items()
            if name != "*" and (name == key or name in value)
        ]
    elif isinstance(form, tuple):
        if len(value) != len(form):
            return ""
        parts = zip(range(len(form)), value, form)
    else:
        parts = ((index, item, form[0]) for index, item in enumerate(value))
    for key, item, part in parts:
        where = misfit(item, part)
        if where is not None:
            return f"[{key}]{where}"
    return None


def is_of_root(certificate):
    """Whether a certificate says that the bound of the root proves its schedule."""
    schema = certificate.get("schema")
    return type(schema) is int and schema == ROOT_SCHEMA


def kind_of(certificate):
    """Kind of problem; certificates of flow shops need not say it."""
    instance = certificate.get("instance")
    return instance.get("kind", KIND) if isinstance(instance, dict) else KIND


def size_of(certificate):
    """Jobs, and a value above the cost of every permutation."""
    if kind_of(certificate) == KIND:
        times = certificate["instance"]["times"]
        given = len(sum(given_of(certificate), []))
        return len(times) - given, sum(map(sum, times)) + 1
    return certificate["tree"]["n_jobs"], certificate["tree"]["trivial_ub"]


def check_form(certificate):
    """Nothing is too large; everything is there, of its type, and nothing else is."""
    check_sizes(certificate)
    own = SHOP if kind_of(certificate) == KIND else OTHER
    at_root = is_of_root(certificate)
    form = ROOT_FORM | {"instance": own["instance"]} if at_root else FORM | own
    if certificate.get("schema") == SCHEMA:
        form |= BOUNDS
    where = misfit(certificate, form)
    expect(where is None, f"{where} is missing, unknown, or of another type")
    known = certificate["format"], certificate["schema"]
    allowed = [(FORMAT, schema) for schema in (SCHEMA, OLD_SCHEMA, ROOT_SCHEMA)]
    expect(known in allowed, f"expected {FORMAT} {SCHEMA}, got {known}")
    if at_root:
        return
    jobs = size_of(certificate)[0]
    expect(0 < jobs <= MOST_JOBS, f"expected 1 to {MOST_JOBS} jobs, got {jobs}")
    for row in certificate["units"]:
        ok = row[2].isascii() and row[2].isdigit() and len(row[2]) < 4300
        expect(ok, f"unit {row[0]} has no number of leaves")


def check_sizes(certificate):
    """Look at the lengths of the lists alone: larger ones are not even read."""
    instance = certificate.get("instance")
    times = instance.get("times") if isinstance(instance, dict) else None
    lists = [("jobs", times, MOST_JOBS)]
    if isinstance(times, list) and len(times) <= MOST_JOBS:
        lists += [("machines", row, MOST_MACHINES) for row in times]
    lists.append(("units", certificate.get("units"), MAX_ENTRIES))
    lists.append(("leases", certificate.get("leases"), MOST_LEASES))
    for name, found, most in lists:
        ok = not isinstance(found, list) or len(found) <= most
        expect(ok, f"expected at most {most} {name}, got {ok or len(found)}")


def paths_of(row, n_jobs):
    """Roots of a unit as paths; None if they are not listed.

    Packed ones are 16-bit integers, little-endian, zlib, base64: of every root its
    depth and its digits.
    """
    name, n_roots, roots = f"unit {row[0]}", row[3], row[4]
    if not isinstance(roots, str):
        return roots
    expect(n_roots <= MAX_ROOTS, f"{name} has too many roots to be packed")
    most = 2 * n_roots * (n_jobs + 1)
    try:
        stream = zlib.decompressobj()
        data = stream.decompress(base64.b64decode(roots, validate=True), most + 1)
        expect(stream.eof and len(data) % 2 == 0, f"{name}: damaged roots")
    except (ValueError, zlib.error):
        raise Failed(f"{name}: damaged roots") from None
    values, paths, at = struct.unpack(f"<{len(data) // 2}H", data), [], 0
    while at < len(values):
        end = at + 1 + values[at]
        ok = end <= len(values) and len(paths) < n_roots
        expect(ok, f"{name}: damaged roots")
        paths.append(list(values[at + 1 : end]))
        at = end
    return paths


# -- the flow shop ---------------------------------------------------------------------


def ends_of(times, order, start=None):
    """When each machine is free after some jobs, if it was at the start before them."""
    ends = [*(start or [0] * len(times[0]))]
    for job in order:
        before = 0
        for machine, time in enumerate(times[job]):
            before = ends[machine] = max(before, ends[machine]) + time
    return ends


def digest_of(times):
    """SHA-256 of the shape and the times, little-endian 64-bit integers."""
    flat = [time for row in times for time in row]
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    content.update(struct.pack("<2q", len(times), len(times[0])))
    content.update(struct.pack(f"<{len(flat)}q", *flat))
    return content.hexdigest()


def given_of(certificate):
    """Jobs that stay at the front and at the back of every sequence, if any."""
    instance = certificate["instance"]
    return instance.get("front", []), instance.get("back", [])


def called(certificate):
    """Name of the instance that a certificate is about, and the given jobs."""
    text = certificate["instance"]["name"]
    for side, jobs in zip(("front", "back"), given_of(certificate)):
        if jobs:
            text += f", given {side} {' '.join(map(str, jobs))}"
    return text


class Shop:
    """The jobs between the given ones: what is sequenced; by default all jobs.

    ``begin`` and ``follow`` are when machines are free after the given front, and what
    the given back takes from there. ``heads`` and ``tails``: when the first one of any
    of the jobs can begin, and what follows the last one. Tails are by the machines in
    reverse.
    """

    def __init__(self, certificate):
        self.all_times = certificate["instance"]["times"]
        self.front, self.back = given_of(certificate)
        given = {*self.front, *self.back}
        self.jobs = [job for job in range(len(self.all_times)) if job not in given]
        self.times = [self.all_times[job] for job in self.jobs]
        self.mirror = [row[::-1] for row in self.times]
        self.begin = ends_of(self.all_times, self.front)
        all_mirror = [row[::-1] for row in self.all_times]
        self.follow = ends_of(all_mirror, self.back[::-1])
        self.heads = first_begin(self.times, self.begin)
        self.tails = first_begin(self.mirror, self.follow)

    def makespan(self, order):
        """Makespan of the whole sequence, of which the given jobs are a part."""
        between = [self.jobs[job] for job in order]
        return ends_of(self.all_times, [*self.front, *between, *self.back])[-1]


def first_begin(times, start):
    """When the first one of any jobs can begin on each machine, at the earliest."""
    ends = [ends_of(times, [job], start) for job in range(len(times))]
    return [
        min(e - p for e, p in zip(*column)) for column in zip(zip(*ends), zip(*times))
    ]


def canonical_of(times):
    """Digest that the order of the jobs, and reversed machines, do not change."""
    return min(digest_of(sorted(times)), digest_of(sorted(row[::-1] for row in times)))


# Flow shops of Taillard, ta001 to ta120, and of Vallada, Ruiz and Framinan, VFR10_5_1
# to VFR800_60_10, in base 85: the first 8 bytes of the digest, 4 of the canonical one,
# and the makespan of the best schedule known in 2026 (2 bytes).
BENCHMARKS = """
V8aqeycr|`L1S=L1pbv?$Y8f`-v>#G&MyT|VXvJx2<;b$V`ZY$1UX#+2eld(TCtuXyj%qh)>8O_u+&o-DbR&D1k?
GGk&R`|e_{m4uKEP4yEFLgS8Hd2BsuwW1k#w0txd)C>kUblV1fj;?|46n`JJQ6F<x4I1kUd3A=zwuTu5%obNd8T(
d*Cr7VHt<dH+xu1}@|jcNZkAZnWc0J%a{&r%?U?%QJ;*Xf{~j1=#(r3^+AS{wx}1Lo)?oha{i(D2_P_sfBY)1&eJ
7L*E#B2Yv%A3YP_Sk!@KwmAhxRr9;;~1<a#uMR0Lg@Ca1uzkdb-Q<wDbh<wP$Bb`0E204@E)0L4ey2Ee6q(%lez&
~2Ra8jk52H%<k2>DqBT&+7dJrM%HZp;WXhe|6-&VvfmB^*4I2^Q;vjxzA6ZUGjO>=6jB{&T*z7s_uvZ%yCs2=jwZ
k?AZE5<DobGm{9ip2W0LK<*`SCvHYZ2;ukR<iDK*+|pp0#%>6h@PbKd*eNTa^5o+62)%s-N%?-%U?4#!!~_U}8>w
^fqdEKpXi{sM3Z$R}Ya%!(24)UR3+)RM;djh=?=LvPerv${3O%19f=cQW1R_N0QyB`sZCe+A#QgGhV4cvA3op9C*
S&20L_3Tz@Nf$aZGBGoJVGMnPWRQ~3Z+S_ATp(?fi78h1J4S30RN^{Ty=gDb_@8)3HVi#OwzIA1A5nDTc--%iq#Y
Q`MG2!3EY|_3$GP%r_i{?vAZ4^3d##JCRRd<V?0oAUdLdy3l~%|@_o=Ud-hx7m3s^Kzua&ZE%pI&1$Nv*3!w4A&d
D++olywEW~&RnNPLv0M@?touWIAb3>9Fkz4XSZ&*(<LcX<olzafY6<So^`1c7({3sKfn^n!~Lkn&AAi5m;~y*S5Y
*eLRMXMH<$4+ck5Ny{(6S9ctm9l;KBf{vn+l0$60SLZMA4mgdDe4@Q2PDYV=s5uUYdK-l^2rDu`2$T&k4jM2a&Fa
t}fJKDPn`RDQgMf&$>r7;>H9+!J4tOhG7i}F%^>3xT!_y9H40_o`OqlR!E1Ba}4xPb+JAum+0jEf|9}o_!a6HdXW
}hq>i`48e6?KS%`<Sa16-fc4OfVFb16hi@Er4Mi0nSD16gS<3zvUtY<sv(%Gh-8$ZRA#aLZv$-j>v>D6oR;DB&U^
eo2Lp&!_O2Chtrlg`$ALlJQ?(G6n^%zOOnvzHeAUV4muO&`sEv<ymEd(q756a6-ZFVL%{*lO>G4ljxiL<bxP!n72
qEd!CQQ;7K$80MdKU;t3$r$??V*jGf7nC1?Zvz2Qzw&7A#>rRMi)NMkFCyJK+|Umh%LG8H9k4I{sP%6<a5wuF3}N
ojs#j$nX@myw_7v{r3HmFk9=`72Bh~za6qPAQ=T6vsM-HD??5m|Kh)*IH_Fn7Vk{%IP0nME4ngiQhXNGR6kV%y=^
+Frg+fQ7#q80Z18I|L!WE-x#k!rMaH<7+L#%&WScze7;OC+IG!2PnQ}@r=l&RO1ky52l$8J!4O~&r7>z^<2TbDuw
$EEw1??EQ9U8@g&66zQ>!nm87*B)6q<|g^$@j5{B1IV0gt(OJWM4k~4+)Hl7-kuk+dM+b;yqW2Y`Yl*BxVLWUI`W
t3x9q1DsC0>>+;8E!frQAk}@dpxA42`ASLKJ7Uo&-Dys9nUROv$uWT4yXg(^5jb8;m*j;!EJ>yqeDICepYTRZ*xI
}IL6jLZ!oL}ssb}GJje*Q=CDrSTnF~Y+1V6#+=6?!S^5BcGWNs+W92HHrzD8^D=|7uVR&1B_{jzuZ6zc?P!fmfH+
9P`NKE0$KZ#=Y_JfN+Xq-y18K42Q>X)=Qqe4@^e*ED=b8=VRwUw*hqsyHYF*9XkG|Or(=rJ*;v$EBo_59GIh;42N
uDbfhb&WWT4mO?p4>p`nnFEJ-JQ3QnCE*0^YS1o$i^<DmyDbKmuE3b-|wD~iOCaU0n|g$?(ls=+K2{~|S((LZtiq
37S`Ww@h<38l6ypSDcMixX#rCRu7{0UrS!Dhzk4X9FKHo&3`>mH%X8CKG2^^qS07+0ynk8@)-;X5KOhs}&V=L66M
QJ&0#zTrPOW=8_PrciPr6XBDj8SUvA$?(QUWOE71^L~7F(WMt3!eNh+aWtB1-^5P@W+<_h53Vml;e0c-dA0Y9zN;
Uc}0=GsLe%4o|#+p{N2qFTyJ&R?`AeYSc80Ln;0@$b>MH!^w0XhL{pc(?X(rX7~s3&K&roIU00?BZxU~4luz3uS3
JdFbE714kBhk4y$$T+<+0@%m~coFtuVdJFSXN>}@w`MWm`FDv_3y)bg0{Jz`E>}X_hoLwumIeZtY1siFpE2CPwtJ
)91WD1up?g9`$uKh}C(HzTJ9#onE5AjUgDu}61Z1RknC|w{&qr#ov%3Ti*4hg$wtx@|O-AnJ1VuV(pZ3KotCJb5m
}Ue$W^}6g1L=9jcT_(d1Y1a^qW$I1{<<tfT*U-gG;W@+#avX9MAno}1Ql4LT1C3Q?zvtHAr}Noyrn2q6sSnzGQ(`
;1sl)wpy_ukP0!YyM!*Gk)=<<rpW*EE8%Gjr1$JW?&o$fz?gB2hgG~jjKb@@Jm!ySwP1!x01znbIoI-*uRy8VHCb
k7JoD&!Ke;u4g#<->41*PR5YbFrD`7XVAQf>vKpFk_~ToHW`Ez6MD1(b!ROedsj=)FvN&d~+6U|D@2MQkz|KGen;
26XRywK(V9Z(S5fySfJ7((`8ugrO#_S`>j72EL2=CxC{_n<bV)#s>zDw@~1Um43o|jb0lZ2Bdra3OJ7~1Na;(F>?
oDieMQ68ctvvCxpp=298s1Gh$MVpF0#@c2ov;JbaN5D!{m<tmF4F2CA~U;mZBa({5MIK1v3E`!i+*aH^HIcc5y(1
gMQi1Qp9(wdY9>7taLyKJGEFOG`y09!!fq1uIk5G-*c!Aw{<=K@J3G-GBZiY&m*oWl2Y&1v~9O<ZM0|1t4fx$;<>
Q?8$o*xGpb=*T%Hf1cDny_k$XSoI@J<95w___;)4!R~LSvHb7HI1tq2qMI#-Fo;FodvmXT8nv~onLL=ezi{28b1^
i1dB$r(*ElJ&cL2(834VbVqZi|?OF{>}M1~}9?w9LY);j#{FN^b?CVmAuTirJ=h98lI821Extn=e8t^bNJlGgbyD
CDICg;FJWyFict>1~<uky_j*;Xbc+m_TUC47JbKi0?9b$Dc}dz1^Q7Mx-Xd=M(AZO)m;VA0W(P3@m5+3t6xwW2ap
xd5JU-y!creEPQC|mjka^tYe|`N4UkW{2L{C^6Jj^=6k&8!zn%vb-e$@OTSD8*7de`@2U9BF6|uJqrN$K;`CA95=
5W>2t`PgbQ5OG=2aUrEvE_LF@(I{B3IYcnhdEGPSf%xo7=Esy2b9*833vW8(>0-;O!fyw`DB<xqpjxb4*G}92;Ql
OTNZ@d9Cvzcis1-)m$dLfzEG^k8l>6p2<4)4onB!&_=aCtf`kZlMloSDtqaywoX8iy2(i4Ki?VkISL!2~jpGRO?p
$Ct+fF~73cm9b2<rE_8x$YqhIy<1D0&Ej*5&4{DhpfWJ_cs^2{JsWEVcaCM;ISm&f*A{+%cPtfS1qFBvaJC2Mytq
;PgZPBQqcUl^+Ht*<p-L5g>yrp)Hnm28s43N{)6xEiAry<c9|J!mnOVa-R7wSpRR^2CE9B@Q(VVS;$So<-G?}w6C
yDEx!H?F4OH|2GuI6tF8l{hpe~_Bu@sa*Qj<JT6;COKXVEm2FF6WRjuopQ|;p8@=yk4@6D+jXv0YmK3$gp2bZav`
ECi;S%;xpy(0)R@zWLsm8TZ(&hpnR2p#<p-p5@U;tLLy2L1<`&j34x+fw6MLU^YJ2j}VhpkY60D{*%KCFckGnD2R
w4iZ56H#x%02d|9f@;IzcA-o0(!WRc<H<LkyM{j4bOtE6J2XtaC+N3^Y`ZEDFJy!>KUv3rbklN`NI1}<E2}&jA&-
#%X9#wdEZ1M>WZ`9Od+2_22Gc$7Z2>?=r1EwTxqP&$Vbu|f$evTwVRCt38jv{MK33Z`1W+FWe>~$uJD$fZ5ii+gO
Yh}_yoG<zr2@G($?K82^FX@^if*=V#B`)HeB$FfvWIzRy2-8oe>9iujz$<IiUNi|&-VL+%JNz4K0uv*>3R5O}2Jx
yfudsN9IT#BQw@>HJjc*iZSwLR;3g5gFYTE>TukLJ!Sr`g<KeCJux9N08tbNQF3UK)tjmRXg?U_6DHdG3mxx*wYU
T>QGXDfpG3Yew|jqi<_3kPCNo*N4MFK#x>TZnfVobfDM3hU@75PkKY8qx*0vKR{WK{Vs<e>xwW0L=5h30&9o6jNh
O=Y0cX4Fd^^Ab<UKc&lHpH#@pw2!3H#5Q7f5zc(1BT5Skr#%PqUXx7U&KiVo}2*<W|Xr1;<tTkI#bczUSf4Kv9Tk
pZvSK%qP2%qF^6bjCRTx4!!a>NO4N-+40j&{?^4{?rf2?0ZAwSak5b}%)WxRMDhc@JX`qjwOMw6~_K39T-pi7)Z}
31&ZL5ZwuX<nSaLIVHP}lA|2$31Eh;^3v-jBNjJe%3BGfw^G<wvgka8xb)$T33OukSoy&h4_juIx4H@K8gsR5_C%
Aoa?ph43Bp|dPUc*8ta~rBw@L}PTKDvI?g%Vb#ay)#32Owcn>jo~H0lJ#kf;f+;^HX&Ayd1$237HX3%o){(&;4Sa
Bg4Se6kAw=6dn7w|Kq3M2;XB3s}TSxr|h@E<0I`bM^~ktYK?S_RVP9d=ic@3w_-{Zb9LREMx}J-1Q3dV_U=Z>i>F
t4~WjH3opqXV15-w1Y-%lEZYlEnsaS17*Tf9HfLYw3Xz$mR-V`ehcuV$uy_l6<QHTEpFg>zJH?r94E2YHRfuFHLc
}-WN_q^KNAlJ`smCj<QDxGX44CNFIz*lWHg_eS*RKqlx79lxJg{GEN%BKZ3+gbNh{<@=#^^VDU-1lZ_-J;UwQYFo
D$$y*46K=&0vNxXW#ka&SvU;64{k(5L|vh-0|wX!4FonTd*TqJR~Qf40R{{!SwzbV{M^||L<f{Q3-16)miXKPG)6
MwWvUA$&i<GRyT4AFJtwoA3c3KQO<s83+(bpnt2zr5SwJKAwlA#JbDc0O3o^uM8D`HWR5U{p_(%&G70b+vT{_7kx
zZ7V3Mi98$xy!+L-i7$y88-z6ik86`-1U5Xf~<a3O$R|T68^j%jis`E4K?0H~9ZUM_WQ?H0{^o3t(3aL<A)aJar5
kabOG6{^!6VZD?@~FBozt3%ZvYz;ef>b!;~o=m870X6ARPy{OPXqZ;7k46>}4-5IQXmE}P?kSq*Mz|MP^+}xf5HY
9|P3lq#YwtMlSWflNlX4wnx5yhuV5>ElPCRfc33%4iiMRJ{IjF4fgl%oskWV|)ILeME*k;($04Cz(BRO^?+*Cl({
{Mro;X56w4)xS^VM*4BG4Be;SqkORo_eXHlE+!4O1^<h_1vSGjOl9P94FtE!6CF2Lp18f!Bg_pATl7pw032|%4T4
%#4U^<Ungywhuh2SzfY}XP`YFtY?lB~8CMFw+40<c11+I;a*4CW8x=sy3`oWi56@X?XMM!SY4qeI%6;B$khU*rSB
|{E!0?8b^teUGO67PeS4!jsdz;U<Q*CBg|GI<VkkkRC<X0TxxIp2<?4ki`@GILHYFlJGa($)^c?fCRV>CtO|EvrR
N4r!w+aqSfZAE95`j)o4pn2`GK$QUz4$+!Fk4%HZ<$OObXq0qMq-#QMg<gA)PYuhGE$%XL=4Hg(405J#O$~GGtul
@_};=>WN>3~IeX!|i(430&p(>6CBLH$!oK%fl5)w&&yF>V|$a=A6?41J){kEqSlOjsUrLb?ni%A?A3q#nfLor6pM
4D;P>`L!$b_>>6|G7$}KAZ7Q96o*1bCvB0f3^A6;8Kxe`riphMYkm$-Y~clo_)K5@tO!lD4Oi6+?9u#6F24>RE!z
$_BMIdBmWgrAZ^3FN4Obxi<wz-^f(sQC@6ru;!#YN<H4b?X9!e_%4X75aUnJi0Mm@YAdBY9@#}!5Z9>|qV70%v)4
m?v;fRiG~u&%R(zO)VC#8-clvpb1}hHC7e4qaEeuhPSJCOi*YVT%o(k|D(JU4Nj!5C*zS4_48<E~3OKYQaqbf{+g
xM^J-e3N&1MIMG6-4-;&;1b7j368v;m&rA+%%w72|%6)KnIJN=j4-$d2Jsb00dLgLG^g0h5jYHd@hCH;la@`I!4$
tkyNLGAPx48*9e#H)t_%ZMjutSTH>qIr_4#;9J@iufe>Xo}+I{*(VTM`)mR6<IpWEqU&5Hb@wstg#6C{xcr!IluA
F(>MuI?MW~efd*%5bP##dzL{BiPkL`cB>Fb`uSPhnpPvxMb=;75KNPms7Aejqn<gKxqc8$HJsG1TfzRWD$0jq5S8
4=93~2XpNUgwO|uY24wiJdi``mK5hAET5MXtO0J*7`(lW@riTn^vGPPp2we`JhF~uVM7vzb_yJy`ag~+DR?)Ml;C
#dkhi3wV4egnFF7zhHDr~YYRN6Rv^vI!U$(m{<-<OcifTzM^J7((g$$Uot88LY!QaQzrySVWXYNdV8FE-Afx7}9S
RxcN6RL|ZM6+UOU6=%H?R(G$k#z6|)k7=o(`dm99Rvl+c&I9wOK!Vk=rTui578USeL9%tmwUTmLimsQnM-bEhad~
lSj{<ItG2Yhla9-h%1rymW%yLK!N=9M10{asW`kAa$WQ<dWq9_*OwyQmG`wDELg=cOL^9BHEa#)yKC+emgu9_a5T
>&2*r{R0F5IMN==R;d(T8?zHV1M$-!9-8iq3E3n-`6ohV=an9z=^3TYW*z-@B@jBaBuCp<d*5t2KcSs90JbF+D#o
GWwc+^iR!h!uBsPPsFG(`q+P4u&l&U0h>?(Idg~S(Dl&A^)B!P3A&S9@kINdn&aL^@ax==U-vMcQomV3Q{BvVE%e
zPwor$!c=JtZXW-_Bz<CWu|33FuMPB*;^ea~<RY1PG}$mJlTyCsKg{3YrOt4S>oIE431xACLm6s%IeKJPRwC%Gb(
D3hyC$hN$X%E8(GSC18h$!!>tDnzSoYsf@I|HF57BE1IZ)D@0h-HqX+InYM#dR+}rxg-H=rW-MLBXg%~qECQ#RAr
UhZ+dz;zc$zCAmk2u_BL$=K0{CqcD*(sKIx1X8&*oYXTQe)UbM~QvQN*Q01(d*oGTBfh?RS4+Qv0M=VT&@OtjGA>
>w!*@K*{H8Ga{Hu0UG_GDguuRPPH=H<$4Bsh>v;+4tYF&GAT((!b2lb&x{g;uuL+n6Fuc053_spD4Ug3GX+1k576
k{D9X89GRZQ^4OoBbX>q1`Uguh_GI!s=3K#kcR*6`ZNdz*~g>nmY?Xgy<55@GXIjD<U6r}55Ru7Hn=`J~+7nC{!u
Yu^IDSh8;I-MsA^C`E-9ptVNiK99BFf>>;8*!C*2bE}cIxYr8zS{$oHB?M@{}DO9SC*PA&$Lz1UFbw;Iujf<eHd)
H7)7UO4;4A2F~aSsu41+<;V0OkIlGDNVnjW@n&>}0u8BFn7T?<ua3TJIAw(otK76ycgEn{F1HGdpiB&)u_F=tkF@
+F#LdddvK8kWo;4|vaTeKHyyH7r}@9uvk8&{v2CWI)wKXqrc(&9PkIAnsfptnAi)3U@3mgx3S1*@yHKRkrDKejsj
P9r;H3ZXxry-Lcp?QV&-6$0uXKTH0(*MrD(AXg|K%PT>Q7e2U(VMT51NHmeOMj|-R@`Tv+=CpRvc=ATh01k-aqj%
aMCb<a$M$^B$&c*5AyCHL-?gK_wa?U+g8=f}gv;R1aM#$$KOD3GiPhnkjNuWlrq?e@*<aKj0Q<ks(M%Iz6kc7MB2
tYH_OY25ss%rw<W)iV-uR|OIMuo0^P57gHYuW;jyC_DCV}ZC<j{qDYbe+2^PZ^w6A}wTrBcvDn-nvdy)@!AZo7Zx
M6Y{3bPJzvNHE3t&USM3nLq|@YP?4#D{y4AMom?F6P77$TW+jtji=QJx6JkzC3obPz|2|Po<)W6dPPB@}Tq4W6ba
QUn#x72)HWqgJ2qr||Oyk&^PV;zVeQSsBAw7X*(<)A-;#95)y(k{)gt~GhQP{k!-1EKnvzClbYoAkMX@YAQW`@PW
U%i|tQ-d*)VONSMxBqboX17v>yeKtz3ihd=PFYkuQ<nno%?l9Nr;`b+UsqC7hBr;>g@g_tLYnVwR0I2iHKMU~04G
TGlEhNZ>mx6x@OL*_dKsEYQuH03wv)KLc}>Qod&pDJv3;65rSSX9v4D>6S}kj(40QOmJk?yF;oMo=!$Q~ubz<A%Z
VXu%TA-yFDoCNm0DxaCb{<)6`pKauUnTxABe9+BS#>XC^^C6-mM(FZw*y)AHj;hyU5M21jj*pCT4lV(3I6Ce$Ad+
Jc^g^WBH1D+f7ig$Q#e+zTDsHJ6dNz`hD}2jvkqGBv8aDKZx(l;A;FHsVoPA+o`+an=oog$DZ^s3RmZWzo7rSME-
ne|V>t@IxdNz)hia-#o55pGwpo1b9OW~4iSv~eV+e<(Zuw@VsLcf<@PlF>u0hz#TVT}=NL=EHVpXYy>?dG<g4zd+
T#sV^ZmRc$evfbz5acl~V>KH{PoVA_e<SULn_y!(&zax}WXKIAQId&WW{podlY*Cy5TBGZ0$gXizmoNST_y5p6G<
4&W}G_irpe4V_PA2uw47y%>xLs!m~Oa`hCTBYXiq29#|*i2U@0#TxjAOlg>#rXh<+_!D=;qIX30T#46IzSy*?v9l
bmL0x;CH*v=5|YB2qF5X6cZC28x6yDGkf777S&mEt54=dt}wTF3f^sZH~J}9GgEBTuqN^)P-(%6BicRPqs2TGLx#
rZX)Xh4!9JT>zW843oUM^%^C90Xkl8KA4ongZfx^|jvQAjJk(J+tPpLbac!T++fLac7y~l{ZhM%W?bRWF)Ux=qg}
H8O&s@+DAfMS!QfL+oZpkk*Mz*V2*xYj*%4=?jD5f5enhiL{HRQR5b~pbaVt!S7`~C#>1&?-7P_9aObxK_oE?a3A
cOJ6}PAoM|6WXHdCR=v{-@`joFDFD`GD1z+cB9v-s}!mh?y$BXc+7Vps*b+CeQ&pl7PF$(cE<jx4{HK64Cw+MszP
?Pfy*&P4&FgSf1t(9cDa{p^xTNRF1ApK00?(5YQgaQNCn#w8|*2^dPi;_D3wo^9)7&t?{IoCAt4bl<*Bc(7y5BWd
X7{I;dL(|>qamz=A3%DH)JK%%@%B5pyxa6dRyjAsYqqCgPJ+^Fl>8$XvEPm8C$UR!5iGQdgY!evQL7>AsDbB{@r@
EJt?N9be?phf4~sHdhvSqgf^$+JRBuvOGtSwtStFx1&tHi9Y84`f;s5TED#y`8AKQ+Y{h{|vuyBlQcd=s8eenIf^
M6V0LZx@^-n7_WuSr2xC__cV%isOTXGCifj}pyxj-P<P{djPRUU#qyMM-IuHt^1flUIgf#z$ns;66Xt`KQjFARYk
B{CyDWoEL)M7p|IfyVnm0FBPclc!BRjzfWzZ3maF(UaR++LcGzih3t)Zz2)Tl^GV&$d!tE_acM6VS*wfplvBeivV
F<n85xT3+Z1dODBqcUb_)mbt&E{i;Uaeii+RU++^@@^Ug%w%sh%J?TAL#2D4h~K;C(oimXkS*FdZsV_r3L3T=ug0
Hj9Zs_E(WRbo@+ii)<Qc1_oMmNRj-GT4eH&JhgD$34`|0`n4rjlH5J6XjXA0@7n4XB&-t61NB)IzACqCm7UTjzh^
&4BXH;DR43RNwAIyY#Q4#OazdRz&M3oj*x<z*lJ)1Pn{uOjE|1YCS~D`amA;%BB4epj=bCB0SkF?OS^*=S5l5b3K
R1fFLb{pr8UUsjdanHwxRl44B<^pTYruU%&f&=-qIE-hld9omM*ti%`dvXlyN@>5uuerd9!~faJu_cW4v?Ul<&}W
Oi9a64j->fC8?FlHn!~H*vZcOzkJB3l}j@$PwGOE$&ImM4HlIGS5e|NsV}3_rn;kAl%1Ol;mcE_3B^?;vdNaHH#K
wA6#+|dBFM0bm5N?$JA~G8VIz8%+8ve;ZhUj&Usr|?G9s-zo%XkomGMc%xQujm23nqsKK2(x`f!%#a_#NDo&vYz`
2=S~;#ZR!r@5XOm49tJ4vSAjVlCqsov$x~X76zXybNOC7n+^S#qZLQojQ5<RL@-zoLqIQgz=G@QZJD^*^i#ek;DJ
nP}8e|xV^q%ov(o-vlz$FjkT(aU0a?Yy2<!Lzx+uDRBW(cp~dv8;&c9II`boFLx`b5ZF(uZdHxsK0!>6mp=V2Wq?
5pCI=^Y?<ZGdyroeWtX#jVodTcwEqMAeI2pJu!d(0iP`DLTON;h#qT0<KM4oIIBp?)q6-9e8zhQXd&bGV_dK2^Ou
dykJE6l+T(qTz1_?!og_TQa0J<Y=N1J#%^;gu~q>g+l%LsI~>nKe=mSs2&Q&$^)qDHXR>inpnd^XA}>NsM$nhDC@
*%UIrsvG1sYTJBPM0%?OM04hvO^soW<qDTA94=J0g`;(MstuSF5gW?^`VT80PRsHzuYM{paE@Li%ul)tG*CKBKa8
J46|PmzRCsT>Q$C(CVkV>cr4n|i4Rry0G1wj)Dr+2s<;v09qg=!{A<#nOJpxyP~ZQwqy-)Op~7*>H=#v9?omY-&D
HpLQ9IsV%XNXs@%x3wA%S3(|0Wu|@)oH$i8g3Ls>Fe`B#o`nj?oV;=6yWv|q%v2S{MqC=1*Qek=aGApr}&-i+$PV
c0YPEQ46vKM-Z;;U3GyLSV8C>F5z
"""
SMALL = product(range(10, 61, 10), range(5, 21, 5), range(1, 11))
LARGE = product(range(100, 801, 100), (20, 40, 60), range(1, 11))
NAMES = [f"ta{number:03}" for number in range(1, 121)]
NAMES += ["VFR{}_{}_{}".format(*name) for name in (*SMALL, *LARGE)]
KNOWN_ROWS = struct.iter_unpack(
    ">8s4sH", base64.b85decode(BENCHMARKS.replace("\n", ""))
)
BEST_KNOWN = dict(zip(NAMES, KNOWN_ROWS))


def check_name(certificate):
    """Check that a benchmark has its own name, and no bound above a known schedule."""
    instance, bound = certificate["instance"], certificate["result"]["lower_bound"]
    digest = digest_of(instance["times"])
    name = re.sub("(?<![0-9])0+(?=[0-9])", "", instance["name"].strip().upper())
    called = re.fullmatch("TA([0-9]+)", name)
    name = f"ta{called[1]:0>3}" if called else name.removesuffix("_GAP")
    known = BEST_KNOWN.get(name)
    ok = known is None or known[0].hex() == digest[:16]
    expect(ok, f"it is called {name}, but has another digest")
    if any(given_of(certificate)):
        return  # the best sequence known need not have these ends
    canonical = canonical_of(instance["times"])[:8]
    for name, (_, any_order, best) in BEST_KNOWN.items():
        ok = any_order.hex() != canonical or bound <= best
        expect(ok, f"{name} has a schedule of makespan {best}, below {bound}")


# Unscheduled jobs, those before and after them, and sums for bounds: when machines are
# free after the prefix; the same of the suffix, by the machines in reverse; and the
# work of each in between.
Node = namedtuple("Node", "jobs prefix suffix front back remain")


class Tree:
    """The search tree: its bounds, and the branching rules, by their definitions."""

    def __init__(self, certificate, threads=1, say=None):
        tree = certificate["tree"]
        self.shop = shop = Shop(certificate)
        self.times, self.mirror = shop.times, shop.mirror
        self.n_jobs, n_machines = len(self.times), len(self.times[0])
        self.rule, self.branching_ub = tree["branching"], tree["branching_ub"]
        self.order = tuple(tree["root_order"] or range(self.n_jobs))
        self.all_optima = certificate["result"]["all_optima"]
        self.floor = certificate["result"]["ub"] + self.all_optima
        self.skips_copies = tree["rule_version"] == EQUAL_JOBS_RULES
        self.ahead, self.behind = Lanes(self.times), Lanes(self.mirror)
        remain = [sum(column) for column in zip(*self.times)]
        self.root = Node(self.order, (), (), shop.begin, shop.follow, remain)
        self.depths, pairs = cascade_of(tree["bound"], self.n_jobs, n_machines)
        sums = [[0, *accumulate(row)] for row in self.times]
        self.pairs = [(u, v, johnson(self.times, sums, u, v)) for u, v in pairs]
        self.threads, self.patience, self.compiled = threads, PATIENCE_S, None
        self.say = say or (lambda _text: None)

    def explore(self, roots, ub, most, at_claim=True, end=inf):
        """Explore subtrees to their end at a fixed upper bound, in plain Python.

        Returns decomposed nodes, leaves and closed subtrees by depth; None if there
        are more than ``most`` nodes. ``at_claim``: no better schedule may be found.
        TimeoutError at a time ``end``.
        """
        decomposed, leaves, closed = 0, 0, Counter()
        for path in roots:
            node, above = self.node_at(path, ub)
            decomposed += max(0, above - len(path) + trailing_zeros(path))
            closed[len(path)] += node is None
            stack = [node] if node else []
            while stack and decomposed + leaves <= most:
                if monotonic() >= end:
                    raise TimeoutError
                node = stack.pop()
                jobs = node.jobs
                depth = self.n_jobs - len(jobs)
                if len(jobs) == 1:
                    leaves += 1
                    closed[depth] += 1
                    if at_claim:
                        self.expect_no_better(node.prefix + jobs + node.suffix, ub)
                    continue
                decomposed += 1
                side, lower = self.children(node, ub)
                closed[depth + 1] += sum(bound >= ub for bound in lower)
                stack += [
                    self.child(node, digit, side)
                    for digit in reversed(range(len(jobs)))
                    if lower[digit] < ub
                ]
            if decomposed + leaves > most:
                return None
        return decomposed, leaves, dict(+closed)

    def explore_all(self, jobs):
        """Explore several; yields the number of each, and what ``explore`` returns.

        What takes plain Python more than a few seconds is compiled.
        """
        begun, jobs, index = monotonic(), [*jobs], 0
        end = begun + self.patience
        for index, job in enumerate(jobs if self.compiled is None else ()):
            try:
                found = self.explore(*job, end=end)
            except TimeoutError:
                if self.compile():
                    break
                self.say(SLOW)
                self.patience = end = inf
                found = self.explore(*job)
            yield index, found
        self.patience -= monotonic() - begun
        if self.compiled is not None:
            left = self.compiled.explore_all(jobs[index:])
            yield from ((index + number, found) for number, found in left)

    def compile(self):
        """Compile what explores; returns whether that went well."""
        try:
            self.compiled = Compiled(self) if compiler() else None
        except Exception:  # noqa: BLE001 - plain Python goes on, whatever Numba lacks
            return False
        return self.compiled is not None

    def reach_all(self, jobs):
        """Whether there are so many nodes, or None if that is not known; likewise."""
        less = [(roots, ub, count - 1, False) for roots, ub, count in jobs]
        for index, found in self.explore_all(less):
            yield index, found is None

    def estimate_all(self, jobs):
        """As ``explore_all``, with what ``estimate`` returns."""
        yield from enumerate(self.estimate(*job) for job in jobs)

    def descend(self, rng, ub, start=()):
        """Walk down to a root, then at every node to a random child not pruned.

        Returns the path, and for each of its nodes an estimate of the number of nodes
        below, without bias from the root on (D. E. Knuth, Math. Comp. 29, 1975).
        """
        node, path, widths = self.root, [], []
        while len(node[0]) > 1:
            side, lower = self.children(node, ub)
            digits = [digit for digit, bound in enumerate(lower) if bound < ub]
            if len(path) < len(start):
                digits = [digit for digit in digits if digit == start[len(path)]]
            if not digits:
                break
            widths.append(len(digits))
            path.append(rng.choice(digits))
            node = self.child(node, path[-1], side)
        return path, sizes_of(widths)

    def estimate(self, roots, ub, rng, nodes):
        """Estimate the number of nodes below roots, without bias, by a walk of so many.

        At every depth a few nodes of each stratum, by how far their bounds are below
        ub, go on and stand for the others (P. C. Chen, SIAM J. Comput. 21(2), 1992).
        """
        span = max(1, ub - min(self.children(self.root)[1]))
        wide = max(nodes, LEAST_WALK) // self.n_jobs  # nodes of a depth
        n_strata = max(1, min(STRATA, wide))
        keep = max(1, wide // n_strata)
        entering, level, total = defaultdict(list), [], 0.0
        for path in roots:
            entering[len(path)].append(path)
        for depth in range(self.n_jobs):
            paths = entering[depth]
            for path in rng.sample(paths, min(len(paths), ROOTS)):
                node, _ = self.node_at(path, ub)
                if node is not None:
                    level.append((max(1, len(paths) / ROOTS), n_strata - 1, node))
            strata = defaultdict(list)
            for weight, least, node in level:
                total += weight
                if len(node[0]) == 1:
                    order = node.prefix + node.jobs + node.suffix
                    self.expect_no_better(order, min(ub, self.floor))
                    continue
                side, lower = self.children(node, ub)
                for digit, bound in enumerate(lower):
                    if bound < ub:
                        stratum = min(least, (ub - 1 - bound) * n_strata // span)
                        strata[stratum].append((weight, node, digit, side))
            level = [
                (weight, stratum, self.child(*child))
                for stratum, group in strata.items()
                for weight, *child in thinned(group, keep, rng)
            ]
        return total

    def node_at(self, path, ub):
        """Return the node at a path, None if one is pruned; and nodes before that."""
        node = self.root
        for above, digit in enumerate(path, 1):
            side, lower = self.children(node, ub)
            if lower[digit] >= ub:
                return None, above
            node = self.child(node, digit, side)
        return node, len(path)

    def expect_no_better(self, order, ub):
        """Check the schedule of a leaf; of all optima one of ub - 1 is known."""
        value = self.shop.makespan(order)
        text = f"a schedule of makespan {value} below {ub} was missed: {[*order]}"
        expect(value >= ub - self.all_optima, text)

    def child(self, node, digit, side):
        """Return a node with one job more."""
        jobs, prefix, suffix, front, back, remain = node
        job, rest = jobs[digit], jobs[:digit] + jobs[digit + 1 :]
        if side:
            suffix, back = (job, *suffix), ends_of(self.mirror, [job], back)
        else:
            prefix, front = (*prefix, job), ends_of(self.times, [job], front)
        remain = list(map(sub, remain, self.times[job]))
        return Node(rest, prefix, suffix, front, back, remain)

    def children(self, node, ub=inf):
        """Return the side that is taken (1: back), and its children's bounds.

        The side is that of LB1; then copies are closed, others below ``ub`` tightened.
        """
        jobs, prefix, suffix = node[:3]
        front = node.front if prefix else self.shop.heads
        back = node.back if suffix else self.shop.tails
        ahead = self.ahead.bounds(front, node.remain, back[::-1], jobs)
        behind = self.behind.bounds(back, node.remain[::-1], front[::-1], jobs)
        side = self.back_is_taken(ahead, behind, self.n_jobs - len(jobs))
        lower = behind if side else ahead
        if self.skips_copies:  # of equal jobs, which are neighbors, only the first
            for digit, (one, two) in enumerate(zip(jobs, jobs[1:]), 1):
                if self.times[one] == self.times[two]:
                    lower[digit] = inf
        if self.n_jobs - len(jobs) + 1 in self.depths:
            for digit, job in enumerate(jobs):
                begin, follow = front, back[::-1]
                if side:
                    follow = ends_of(self.mirror, [job], node.back)[::-1]
                else:
                    begin = ends_of(self.times, [job], node.front)
                rest = {*jobs} - {job}
                for pair in self.pairs:
                    if lower[digit] >= ub:
                        break
                    found = two_machine_bound(pair, begin, follow, rest)
                    lower[digit] = max(lower[digit], found)
        return side, lower

    def back_is_taken(self, ahead, behind, depth):
        """Whether the back children are taken."""
        if self.rule in ("front", "back", "alternate"):
            return self.rule == "back" or (self.rule == "alternate" and depth % 2 == 1)
        difference = 0
        if self.rule == "minmin":
            least = min(ahead + behind)
            difference = behind.count(least) - ahead.count(least)
        elif self.rule == "minbranch":
            limit = self.branching_ub
            difference = sum(b < limit for b in behind) - sum(b < limit for b in ahead)
        return difference < 0 if difference else sum(behind) > sum(ahead)


class Lanes:
    """LB1 of appending any of the jobs: of all jobs at once, machine by machine.

    One integer holds the times of all jobs on a machine, each in a lane of its own
    bits, so that one addition is one for every job. What is in a lane stays below its
    highest bit, the guard, by which the larger one of two values is found.
    """

    def __init__(self, times):
        starts = [LANE * job for job in range(len(times))]
        self.ones = sum(1 << start for start in starts)
        self.guards = self.ones << LANE - 1
        self.columns = [
            sum(time << start for time, start in zip(column, starts))
            for column in zip(*times)
        ]
        self.lanes = struct.Struct(f"<{len(times)}I")

    def bounds(self, front, remain, back, jobs):
        """Bounds of jobs that follow a front.

        The earliest begin of a job on a machine is its end on the one before, or when
        this one is free; from then on the machine has all unscheduled jobs to do.
        """
        end = bound = 0
        for column, free, work, tail in zip(self.columns, front, remain, back):
            begin = self.larger(end, free * self.ones)
            bound = self.larger(bound, begin + (work + tail) * self.ones)
            end = begin + column
        found = self.lanes.unpack(bound.to_bytes(self.lanes.size, "little"))
        return [found[job] for job in jobs]

    def larger(self, one, two):
        """Return the larger value in every lane."""
        not_less = ((one | self.guards) - two) & self.guards
        return two ^ ((one ^ two) & (not_less - (not_less >> LANE - 1)))


@cache
def compiler():
    """Return Numba and NumPy, which comes with it; None if they cannot be used."""
    try:
        import numba
        import numpy
    except Exception:  # noqa: BLE001 - not only ImportError: a wrong setting, too
        return None
    return None if numba.config.DISABLE_JIT else (numba, numpy)


class Compiled:
    """Explores in threads, with a compiled function: the same tree."""

    def __init__(self, tree):
        _, np = compiler()
        self.tree, self.threads, shop = tree, tree.threads, tree.shop
        self.n_jobs, self.n_machines = n, m = len(tree.times), len(tree.times[0])
        # a path of operations to a machine, and through a job, and on to the end
        top = (len(shop.all_times) + 2 * m + 4) * max(map(max, shop.all_times))
        kinds = np.int16, np.int32, np.int64
        self.kind = kind = next(kind for kind in kinds if top < np.iinfo(kind).max)
        self.none = int(np.iinfo(kind).max)  # bound of what is no child
        self.lanes = -(-n // VECTOR) * VECTOR
        rows = [[shop.times[job], shop.mirror[job]] for job in tree.order]
        rows = np.array(rows).transpose(1, 0, 2)
        times = np.zeros((2, m, self.lanes), kind)
        times[:, :, :n] = rows.transpose(0, 2, 1)
        changes = (rows[0, 1:] != rows[0, :-1]).any(axis=1)
        groups = np.array([0, *changes.cumsum()])  # of equal jobs
        orders = np.array([pair[2] for pair in tree.pairs], np.int64).reshape(-1, n, 4)
        orders[:, :, 3] = np.argsort(tree.order)[orders[:, :, 3]]
        machines = np.array([pair[:2] for pair in tree.pairs], np.int64).reshape(-1, 2)
        self.tables = times, rows.astype(kind, "C"), groups, machines, orders
        limit = min(tree.branching_ub, self.none) if tree.rule == "minbranch" else 0
        self.options = RULES.index(tree.rule), kind(limit), tree.skips_copies
        self.options += tree.depths.start, tree.depths.stop
        self.run = explorer(kind, self.lanes, m)
        Search(self, [[]]).explore(0, 0, False)  # a node: what fails, fails here

    def explore_all(self, jobs):
        """Explore as ``Tree.explore_all`` does.

        While there are too few parts for all threads, what one leaves is shared out.
        Counts of disjoint parts add up.
        """
        waiting = deque((at, Search(self, job[0])) for at, job in enumerate(jobs))
        sums, parts, calls = [(0, 0, Counter())] * len(jobs), [1] * len(jobs), {}
        with ThreadPoolExecutor(self.threads) as pool:
            while waiting or calls:
                while waiting and len(calls) < self.threads:
                    index, search = waiting.popleft()
                    if sums[index] is not None:
                        call = pool.submit(search.explore, *jobs[index][1:])
                        calls[call] = index, search
                for call in wait(calls, return_when=FIRST_COMPLETED).done:
                    index, search = calls.pop(call)
                    counts = call.result()
                    if sums[index] is None:
                        continue  # too many nodes: that is known
                    sums[index] = found = [*map(add, sums[index], counts)]
                    if found[0] + found[1] > jobs[index][2]:
                        sums[index] = None
                        yield index, None
                        continue
                    if search.ended:
                        parts[index] -= 1
                    else:
                        waiting.appendleft((index, search))
                        few = len(waiting) + len(calls) < self.threads
                        if given := few and search.shared():
                            waiting.append((index, given))
                            parts[index] += 1
                    if not parts[index]:
                        yield index, (*found[:2], dict(found[2]))


class Search:
    """What one thread explores: roots, and what is left of the one that was begun.

    Of each depth on the way to the current node there are: the jobs of the children
    that are not pruned, and how many they are; how many of them were taken, -1 if the
    bounds are not known yet; whether they go to the back; when machines are free after
    the prefix, and of the suffix, by the machines in reverse; and the work in between.
    """

    def __init__(self, compiled, roots, shares=False):
        self.compiled, self.roots = compiled, deque(roots)
        self.shares = shares  # roots are jobs then, and what is above counts elsewhere
        self.state, self.depth = None, -1

    @property
    def ended(self):
        """Whether all is explored."""
        return self.depth < 0 and not self.roots

    def begin(self):
        """Begin with the next root."""
        _, np = compiler()
        known, shop = self.compiled, self.compiled.tree.shop
        n, m, kind = known.n_jobs, known.n_machines, known.kind
        if self.state is None:
            self.kids = np.zeros((n, known.lanes), np.int16)
            # rows before and after: no thread writes to memory next to another's
            _, *marks, _ = np.zeros((5, n + VECTOR), np.int16)
            self.many, self.taken, self.sides = marks
            self.gone = np.full((3, known.lanes), known.none, kind)[1]
            ends, work = np.zeros((n, 2, m), kind), np.zeros((n, m), kind)
            # of no jobs: the bounds that stand for them, from which the same follows
            ends[0], work[0] = (shop.heads, shop.tails), known.tree.root.remain
            self.state = self.kids, self.many, self.taken, self.sides
            self.state += self.gone, ends, work
        path, left = self.roots.popleft(), [*range(n)]
        self.owned = len(path) - (0 if self.shares else trailing_zeros(path))
        path = path if self.shares else [left.pop(digit) for digit in path]
        self.path = np.array(path, np.int16)
        self.gone[:n], self.taken[0], self.depth = 0, -1, 0

    def explore(self, ub, most, at_claim=True):
        """Explore for a slice, or until there are too many nodes; returns counts."""
        _, np = compiler()
        known = self.compiled
        closed, nodes, leaves = np.zeros((3, known.n_jobs), np.int64)[1], 0, 0
        steps = known.n_machines + len(known.tree.pairs) * known.n_jobs  # of a child
        most = min(most, max(1, SLICE // (known.n_jobs * steps)))
        floor = ub - known.tree.all_optima if at_claim else -1
        while nodes + leaves <= most and not self.ended:
            if self.depth < 0:
                self.begin()
            self.depth, *counts, better = known.run(
                *(known.tables, known.options, self.state, self.depth, self.path),
                *(self.owned, ub, floor, most - nodes - leaves, closed),
            )
            nodes, leaves = nodes + counts[0], leaves + counts[1]
            if better:
                order = [int(self.gone.argmin())]
                for depth in reversed(range(self.depth)):
                    job = self.kids[depth, self.taken[depth] - 1]
                    order.insert(self.sides[depth] * len(order), job)
                known.tree.expect_no_better([known.tree.order[at] for at in order], ub)
        return nodes, leaves, Counter(dict(enumerate(closed.tolist())))

    def shared(self):
        """Give about half away: roots, or what is left at the least depth, if any."""
        if len(self.roots) > 1:
            roots = [*self.roots]
            self.roots = deque(roots[::2])
            return Search(self.compiled, roots[1::2], self.shares)
        for depth in range(len(self.path), self.depth + 1):
            taken, many = self.taken[depth], int(self.many[depth])
            if 0 <= taken < many:
                self.many[depth] = taken
                way = [self.kids[at, self.taken[at] - 1] for at in range(depth)]
                roots = [[*way, job] for job in self.kids[depth, taken:many]]
                return Search(self.compiled, roots, shares=True)
        return None


@cache
def bounds_of(lanes, n_machines):
    """Return the function for Numba that computes the bounds of a node's children.

    It is ``Lanes.bounds`` of both sides, for ``VECTOR`` jobs at once in instructions
    that Numba does not find in such loops by itself: that makes all of the exploring
    three times as fast. It returns how many more children the back has at a limit: with
    the least bound of all, or below the given one.
    """
    numba, _ = compiler()
    from llvmlite import ir
    from numba.core import cgutils, types

    word = ir.IntType(64)

    def write(context, builder, signature, arguments):
        vector = ir.VectorType(context.get_value_type(signature.args[0].dtype), VECTOR)

        def at(argument, *indices):
            kind, value = signature.args[argument], arguments[argument]
            array = context.make_array(kind)(context, builder, value)
            indices = [word(i) if type(i) is int else i for i in indices]
            return cgutils.get_item_pointer(context, builder, kind, array, indices)

        def many_at(*place):
            return builder.bitcast(at(*place), vector.as_pointer())

        def everywhere(value):
            one = builder.insert_element(vector(ir.Undefined), value, word(0))
            zeros = ir.VectorType(ir.IntType(32), VECTOR)(None)
            return builder.shuffle_vector(one, one, zeros)

        def of_two(which, one, two):
            return builder.select(builder.icmp_signed(which, one, two), one, two)

        times, ends, work, gone, found = range(5)
        depth, by_least, limit = arguments[5:]
        bounds, least = [], vector([2 ** (vector.element.width - 1) - 1] * VECTOR)
        for first, side in product(range(0, lanes, VECTOR), range(2)):
            end = cgutils.alloca_once_value(builder, vector(None))
            bound = builder.load(many_at(gone, first), align=1)
            bound = cgutils.alloca_once_value(builder, bound)
            with cgutils.for_range(builder, word(n_machines)) as loop:
                mirrored = builder.sub(word(n_machines - 1), loop.index)
                machine = mirrored if side else loop.index
                free = builder.load(at(ends, depth, side, loop.index))
                other = builder.load(at(ends, depth, 1 - side, mirrored))
                after = builder.add(other, builder.load(at(work, depth, machine)))
                begin = of_two(">", builder.load(end), everywhere(free))
                value = builder.add(begin, everywhere(after))
                builder.store(of_two(">", value, builder.load(bound)), bound)
                time = builder.load(many_at(times, side, loop.index, first), align=1)
                builder.store(builder.add(begin, time), end)
            bounds.append(builder.load(bound))
            builder.store(bounds[-1], many_at(found, side, first), align=1)
            least = of_two("<", bounds[-1], least)
        reduce = cgutils.get_or_insert_function(
            *(builder.module, ir.FunctionType(vector.element, [vector])),
            f"llvm.vector.reduce.smin.v{VECTOR}i{vector.element.width}",
        )
        least = builder.add(builder.call(reduce, [least]), vector.element(1))
        limit = everywhere(builder.select(by_least, least, limit))
        more = ir.IntType(VECTOR)(0)
        for bound, count in zip(bounds, cycle((builder.sub, builder.add))):
            below = builder.icmp_signed("<", bound, limit)
            more = count(more, builder.ctpop(builder.bitcast(below, more.type)))
        return builder.sext(more, word)

    @numba.extending.intrinsic
    def bounds(_, times, ends, work, gone, found, depth, by_least, limit):
        kinds = times, ends, work, gone, found, depth, types.boolean, times.dtype
        return types.int64(*kinds), write

    return bounds


@cache
def explorer(kind, lanes, n_machines):
    """Compile the function that explores, for times of a kind, jobs and machines."""
    numba, np = compiler()
    njit, none = numba.njit(nogil=True), np.iinfo(kind).max
    bounds = bounds_of(lanes, n_machines)

    @njit
    def is_closed(machines, orders, ends, gone, depth, job, ub):
        """Whether two-machine bounds close a child that has a job more than gone."""
        for pair in range(len(machines)):
            u, v = machines[pair]
            one, two = np.int64(ends[depth, 0, u]), np.int64(ends[depth, 0, v])
            for first, lag, second, other in orders[pair]:
                if gone[other] == 0 and other != job:
                    one += first
                    two = max(two, one + lag) + second
            if two + ends[depth, 1, n_machines - 1 - v] >= ub:
                return True
        return False

    @njit
    def explore(tables, options, state, depth, path, owned, ub, floor, most, closed):
        """Explore on from a state, until there are too many nodes.

        The depth of the current node, nodes, leaves, and whether it is a leaf that is
        better than it may be. The depth is -1 at the end.
        """
        times, rows, groups, machines, orders = tables
        rule, limit, skips_copies, first, last = options
        kids, many, taken, sides, gone, ends, work = state
        n_jobs = len(work)
        found, below = np.empty((2, lanes), kind), min(ub, none)
        decomposed = leaves = 0
        while depth >= 0 and decomposed + leaves <= most:
            if taken[depth] < 0:  # it was not looked at yet
                taken[depth] = many[depth] = kept = 0
                if depth == n_jobs - 1:
                    leaves += 1
                    closed[depth] += 1
                    job, value, end = gone.argmin(), 0, 0
                    for k in range(n_machines):
                        end = max(end, ends[depth, 0, k]) + rows[0, job, k]
                        value = max(value, end + ends[depth, 1, n_machines - 1 - k])
                    if value < floor:
                        return depth, decomposed, leaves, True
                    continue
                decomposed += depth >= owned
                more = bounds(times, ends, work, gone, found, depth, rule == 0, limit)
                if more == 0:
                    for job in range(lanes):
                        more += found[0, job] - found[1, job]
                if rule > 2:  # alternate, front, back
                    more = -1 if rule == 5 or (rule == 3 and depth % 2 == 1) else 0
                side = sides[depth] = 1 if more < 0 else 0
                if skips_copies:
                    before = -1
                    for job in range(n_jobs):
                        if not gone[job]:
                            if groups[job] == before:
                                found[side, job] = none
                            before = groups[job]
                if depth < len(path):
                    kids[depth, 0] = path[depth]
                    kept += found[side, path[depth]] < below
                    closed[len(path)] += 1 - kept
                else:
                    for job in range(n_jobs):
                        kids[depth, kept] = job
                        kept += found[side, job] < below
                    closed[depth + 1] += n_jobs - depth - kept
                many[depth] = kept
            if taken[depth] == many[depth]:
                depth -= 1
                if depth >= 0:
                    gone[kids[depth, taken[depth] - 1]] = 0
                continue
            job, side, end = kids[depth, taken[depth]], sides[depth], 0
            taken[depth] += 1
            for k in range(n_machines):
                end = max(end, ends[depth, side, k]) + rows[side, job, k]
                ends[depth + 1, side, k] = end
            for k in range(n_machines):
                ends[depth + 1, 1 - side, k] = ends[depth, 1 - side, k]
                work[depth + 1, k] = work[depth, k] - rows[0, job, k]
            if first <= depth + 1 < last and is_closed(
                machines, orders, ends, gone, depth + 1, job, ub
            ):
                closed[max(depth + 1, len(path))] += 1
                continue
            gone[job] = none
            depth += 1
            taken[depth] = -1
        return depth, decomposed, leaves, False

    return explore


def cascade_of(bound, n_jobs, n_machines):
    """Return depths at which children have two-machine bounds, and the pairs."""
    if bound == "lb1":
        return range(0), []
    machines = range(n_machines)
    if bound == "lb2":
        return range(n_jobs), [(u, v) for u in machines for v in machines[u + 1 :]]
    found = CASCADE.fullmatch(bound)
    expect(found, f"expected a bound of {KNOWN}, got {bound!a}")
    first, last = int(found[1]), int(found[2])
    ok = 1 <= first <= last < n_jobs
    expect(ok, f"expected depths 1 to {n_jobs - 1} of a cascade, got {first}-{last}")
    pairs = [tuple(map(int, pair.split("-"))) for pair in found[3].split(",")]
    ok = all(u < v < n_machines for u, v in pairs) and len({*pairs}) == len(pairs)
    expect(ok, f"expected pairs of {n_machines} machines, u < v, each once")
    return range(first, last + 1), pairs


def johnson(times, sums, u, v):
    """Return all jobs in Johnson's order of two machines, with their three times.

    They are that on u, between the two, which counts as a lag, and on v.
    """
    lags = [row[v] - row[u + 1] for row in sums]
    rows = [(row[u], lags[j], row[v], j) for j, row in enumerate(times)]
    ahead = sorted((a + lag, a, lag, b, j) for a, lag, b, j in rows if a <= b)
    behind = sorted((-b - lag, a, lag, b, j) for a, lag, b, j in rows if a > b)
    return [row[1:] for row in ahead + behind]


def two_machine_bound(pair, begin, follow, jobs):
    """Bound of a node with unscheduled jobs, by Johnson's rule for two machines."""
    u, v, order = pair
    on_first, on_second = begin[u], begin[v]
    for first, lag, second, job in order:
        if job in jobs:
            on_first += first
            on_second = max(on_second, on_first + lag) + second
    return on_second + follow[v]


def sizes_of(widths):
    """Estimate the nodes below each node of a path, from the numbers of children."""
    sizes = [1]
    for width in reversed(widths):
        sizes.append(1 + width * sizes[-1])
    return sizes[::-1]


def thinned(group, keep, rng):
    """Draw by weight, which comes first, so that those drawn stand for all."""
    if len(group) <= keep:
        return group
    step, passed, found = sum(row[0] for row in group) / keep, 0.0, []
    at = rng.random() * step
    for weight, *rest in group:
        passed += weight
        times = max(0, math.ceil((passed - at) / step))
        at += times * step
        if times:
            found.append((times * step, *rest))
    return found


def interval(ratios):
    """Interval of the mean of skewed estimates, wider where they disagree.

    For log-normal ones (U. Olsson, J. Stat. Educ. 13(1), 2005); moved out as dpbb does,
    which was fitted to trees of known size: what no walk has met nobody knows.
    """
    logs, n = [math.log(ratio) for ratio in ratios], len(ratios)
    if n < 2:
        return 0.0, inf
    spread = variance(logs)
    middle = fmean(logs) + spread / 2
    half = STUDENT[min(n, 11) - 2] * math.sqrt(spread / n + spread**2 / 2 / (n - 1))
    low = middle - half - 0.15 - 0.3 * math.sqrt(spread)
    high = middle + half + 0.2 + math.sqrt(spread)
    return tuple(math.exp(max(-700, min(end, 700))) for end in (low, high))


# -- the books -------------------------------------------------------------------------


def trailing_zeros(path):
    """How many ancestors of a node have the same first leaf."""
    return next((z for z, digit in enumerate(reversed(path)) if digit), len(path))


def leaves_below(closed, n_jobs):
    """Leaves of subtrees, given as (depth, number)."""
    return sum(count * factorial(n_jobs - depth) for depth, count in closed)


def check_shop(certificate):
    """Check the processing times, given jobs and their digest; returns the shop."""
    kind = kind_of(certificate)
    expect(kind == KIND, f"expected a problem of kind {KIND}, got {kind!a}")
    times = certificate["instance"]["times"]
    expect(times and times[0], "there are no processing times")
    expect(all(len(row) == len(times[0]) for row in times), "the times are no table")
    own, given = digest_of(times), given_of(certificate)
    if any(given):
        jobs = sum(given, [])
        ok = {*jobs} <= {*range(len(times))} and len({*jobs}) == len(jobs) < len(times)
        expect(ok, "expected given jobs each once, and others between them")
        content = hashlib.sha256(b"dpbb flow shop with given ends 1\n")
        content.update(bytes.fromhex(own))
        for jobs in given:
            content.update(struct.pack(f"<{len(jobs) + 1}q", len(jobs), *jobs))
        own = content.hexdigest()
    digest = certificate["instance"]["digest"]
    expect(own == digest, "the digest is not that of the processing times")
    ok = sum(map(sum, times)) < MOST_TIME
    expect(ok, f"the times are together {MOST_TIME} or more")
    return Shop(certificate)


def check_instance(certificate):
    """Digest of the times; the tree's options; cost of the schedule; the claim."""
    shop = check_shop(certificate)
    n_jobs = len(shop.times)
    said = certificate["tree"].get("n_jobs", n_jobs)
    expect(said == n_jobs, f"expected {n_jobs} jobs, got {said}")
    bound = certificate["instance"].get("bound", "lb1")
    check_options(certificate, bound)
    cascade_of(bound, n_jobs, len(shop.times[0]))
    check_equal_jobs(certificate, shop.times)
    check_claim(certificate, shop.makespan, "makespan")
    check_name(certificate)


def check_options(certificate, bound):
    """Bound, rule and its version are those that are known here."""
    tree, jobs = certificate["tree"], list(range(size_of(certificate)[0]))
    expect(tree["bound"] == bound, f"expected bound {bound}, got {tree['bound']!a}")
    rule, version = tree["branching"], tree["rule_version"]
    expect(rule in RULES, f"expected a branching rule of {RULES}, got {rule!a}")
    ok = version in (PLAIN_RULES, EQUAL_JOBS_RULES)
    expect(ok, f"expected branching rules of version 1 or 2, got {version}")
    ok = version == PLAIN_RULES or not certificate["result"]["all_optima"]
    expect(ok, "expected all optima, got a tree without those of equal jobs")
    known = tree["branching_ub"] is not None or rule != "minbranch"
    expect(known, "expected the fixed value that minbranch compares with")
    order = tree["root_order"]
    expect(order is None or sorted(order) == jobs, "the root order is none of all jobs")


def check_equal_jobs(certificate, times):
    """Rules of version 2 are for equal jobs, which are neighbors in the root order."""
    tree = certificate["tree"]
    if tree["rule_version"] == EQUAL_JOBS_RULES:
        rows = [times[job] for job in tree["root_order"] or range(len(times))]
        kinds = 1 + sum(one != two for one, two in zip(rows, rows[1:]))
        ok = kinds == len({*map(tuple, rows)}) < len(rows)
        expect(ok, "expected equal jobs side by side in the root order")


def check_schedule(result, jobs, cost, objective):
    """Check that there is a schedule, and that it costs what is claimed."""
    ok = sorted(result["permutation"] or []) == [*jobs]
    expect(ok, "the schedule is none of all jobs")
    found, value = cost(result["permutation"]), result["makespan"]
    expect(found == value, f"the schedule has {objective} {found}, not {value}")


def check_objective(result, objective):
    """Check what the cost is called, if it is called anything."""
    called = result.get("objective", objective)
    expect(called == objective, f"expected a cost called {objective}, got {called!a}")


def check_claim(certificate, cost, objective):
    """Check that the schedule costs what is claimed, where the tree was pruned."""
    result, jobs = certificate["result"], list(range(size_of(certificate)[0]))
    status, value, order = result["status"], result["makespan"], result["permutation"]
    check_objective(result, objective)
    if status == "optimal":
        check_schedule(result, jobs, cost, objective)
        expect(result["ub"] == value, f"explored below {result['ub']}, not {value}")
    else:
        expect(status == "infeasible_cutoff", f"{status!r} is no claim of a proof")
        expect((value, order) == (None, None), "expected no schedule below the cutoff")
        expect(not result["all_optima"], "expected schedules, if all are looked for")
    expect(result["lower_bound"] == result["ub"], "the bound is not what was explored")
    check_bounds(certificate, jobs, cost)


def check_root_claim(certificate, n_jobs, cost, bound, objective):
    """Check that the schedule costs what is claimed, and no more than the bound."""
    result = certificate["result"]
    check_objective(result, objective)
    expect(result["status"] == "optimal", "expected the claim of an optimum")
    check_schedule(result, range(n_jobs), cost, objective)
    claimed, value = result["lower_bound"], result["makespan"]
    expect(claimed == value, f"the bound {claimed} is not that of the schedule")
    expect(bound >= value, f"the root has the bound {bound}, below {value}")


def check_root(certificate):
    """Check a certificate without a tree; returns what it rests on."""
    shop = check_shop(certificate)
    bound = root_bound_of(shop)
    check_root_claim(certificate, len(shop.times), shop.makespan, bound, "makespan")
    check_name(certificate)
    return f"the root has the bound {bound}"


def root_bound_of(shop):
    """LB1 of the root's children, and LB2 of the root: two machines at a time.

    Machines between two count as time lags; then Johnson's order is the best.
    """
    times, mirror, heads, tails = shop.times, shop.mirror, shop.heads, shop.tails[::-1]
    jobs, machines = range(len(times)), range(len(times[0]))
    remain = [sum(row[k] for row in times) for k in machines]
    ahead, behind = Lanes(times), Lanes(mirror)
    bound = max(
        min(ahead.bounds(heads, remain, tails, jobs)),
        min(behind.bounds(tails[::-1], remain[::-1], heads[::-1], jobs)),
    )
    if len(times) * len(machines) * (len(machines) - 1) // 2 > MOST_STEPS:
        return bound
    sums = [[0, *accumulate(row)] for row in times]
    for u in machines:
        for v in machines[u + 1 :]:
            pair = u, v, johnson(times, sums, u, v)
            bound = max(bound, two_machine_bound(pair, heads, tails, jobs))
    return bound


def check_bounds(certificate, jobs, cost):
    """Check what was pruned at: values that fall to the claim, of schedules.

    A cutoff has none. With all optima the bounds are by 1 above.
    """
    result, bounds = certificate["result"], certificate.get("bounds")
    if bounds is None:
        return  # of the old schema
    before = size_of(certificate)[1] + 1
    for bound, order in bounds:
        expect(bound < before, f"bound {bound} is not below the one before it")
        before = bound
        if order is not None:
            expect(sorted(order) == jobs, f"bound {bound} has no schedule of all jobs")
            found = cost(order)
            ok = found in (bound, bound - 1)
            expect(ok, f"the schedule of bound {bound} has {found}")
    last = result["ub"] + result["all_optima"]
    expect(bounds and before >= last, f"expected bounds not below {last}")


def check_units(certificate):
    """Units are made of each other's roots, and nothing is in two of them.

    A root is named by its path. Two subtrees are disjoint unless one path begins the
    other, which in sorted order is then seen between neighbors. Returns how many units
    list their roots.
    """
    n_jobs, _ = size_of(certificate)
    homes = {}  # of each unit: the next one above, or itself, whose roots are listed
    inside = {0: []}  # of each of these: the roots of units that were made in it
    above = {0: [[]]}
    packed = digits = 0
    least = min(PACKED_ROOTS, PACKED_DIGITS // n_jobs)  # are packed by every run
    for row in certificate["units"]:
        number, parent, leaves, n_roots, roots = row
        name = f"unit {number}"
        expect(number > 0 and number not in homes, f"{name} is there twice")
        expect(parent in homes if homes else not parent, f"{name} is made from nothing")
        expect(n_roots > 0 and int(leaves) > 0, f"{name} has no leaves")
        form = list if n_roots <= FEW_ROOTS else type(None)
        room = (least if roots is None else PACKED_ROOTS) - packed
        few = form is not list and n_roots <= min(room, MAX_ROOTS)
        if few and certificate["schema"] != OLD_SCHEMA:
            form, packed = str, packed + n_roots
        expect(type(roots) is form, f"{name} has {n_roots} roots: listed?")
        expect(homes or roots == [[]], f"{name}, the first one, is no whole tree")
        home = homes[number] = number if roots is not None else homes[parent]
        if roots is None:
            continue
        roots = paths_of(row, n_jobs)
        expect(len(roots) == n_roots, f"{name} does not have {n_roots} roots")
        digits += sum(map(len, roots)) if form is str else 0
        text = f"{name}: packed roots have more than {PACKED_DIGITS} digits"
        expect(digits <= PACKED_DIGITS, text)
        most = range(n_jobs, 1, -1)
        for path in roots:
            if len(path) >= n_jobs or not all(map(lt, path, most)):
                raise Failed(f"{name} has a root {path}, which is no node")
        total = leaves_below(Counter(map(len, roots)).items(), n_jobs)
        expect(total == int(leaves), f"{name} does not have {leaves} leaves")
        above[home], inside[home] = sorted(roots), []
        inside[homes[parent] if parent else 0] += roots
    expect(homes, "there are no units")
    for home, roots in inside.items():
        roots.sort()
        for one, two in zip(roots, roots[1:]):
            if two[: len(one)] == one:
                raise Failed(f"roots {one} and {two} overlap")
        for path in roots:
            near = above[home][max(0, bisect_right(above[home], path) - 1)]
            if path[: len(near)] != near:
                raise Failed(f"root {path} is not inside unit {home}")
    return len(above) - 1


class Part:
    """A unit: what its leases counted, and soon those of units made from it, too."""

    def __init__(self, row, n_jobs):
        self.number, self.parent, leaves, *_ = row
        self.roots = paths_of(row, n_jobs)
        self.leaves = self.open = int(leaves)  # open: nobody accounts for them yet
        self.whole = True  # nothing of it is in the rest
        self.decomposed = self.visited = 0  # nodes, leaves
        self.closed = Counter()
        self.most, self.least = 0, inf  # upper bounds

    def add(self, decomposed, visited, closed, most, least):
        """Add the counts of a lease, or of a unit that was made from it."""
        self.decomposed += decomposed
        self.visited += visited
        self.closed.update(closed)
        self.most, self.least = max(self.most, most), min(self.least, least)

    @property
    def counts(self):
        """As ``Tree.explore`` returns them."""
        return self.decomposed, self.visited, dict(self.closed)

    @property
    def nodes(self):
        """Nodes of both kinds."""
        return self.decomposed + self.visited

    @property
    def exact(self):
        """Whether there was one upper bound, so that any engine counts the same."""
        return self.least == self.most

    def check_tree(self, n_jobs):
        """Check that closed subtrees make up a tree, with so many inner nodes."""
        starts, inner, total = Counter(map(len, self.roots)), 0, 0
        for depth in range(n_jobs):
            inner = inner * (n_jobs - depth + 1) + starts[depth] - self.closed[depth]
            total += inner
            ok = inner >= 0 if depth < n_jobs - 1 else inner == 0
            expect(ok, f"unit {self.number}, depth {depth}: closed ones of no tree")
        most = total + sum(map(trailing_zeros, self.roots))  # with its ancestors
        ok = (total if self.exact else 0) <= self.decomposed <= most
        expect(ok, f"unit {self.number}: {self.decomposed} nodes, its tree has {total}")

    def check_again(self, found, ub):
        """Compare the counts with those of the subtrees, explored again at a bound."""
        name = f"unit {self.number} was explored with {self.counts}"
        expect(found is not None, f"{name}, again there are more nodes")
        # as the bound fell, the run explored what there is below the last one, or more
        fewer = found[0] <= self.decomposed and found[1] <= self.visited
        ok = found == self.counts if self.least == self.most == ub else fewer
        expect(ok, f"{name}, again with {found}")


def check_closed(name, closed, visited, n_jobs):
    """Depths rise, numbers are positive. Returns the leaves."""
    depths = [-1, *(depth for depth, _ in closed), n_jobs]
    ok = all(one < two for one, two in zip(depths, depths[1:]))
    expect(ok and all(n for _, n in closed), f"{name}: closed is no list of depths")
    expect(visited <= dict(closed).get(n_jobs - 1, 0), f"{name}: leaves are not closed")
    return leaves_below(closed, n_jobs)


def check_sums(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit.

    Returns the units as parts of the tree, with the counts of all units made from them.
    """
    n_jobs, start = size_of(certificate)
    result, rest = certificate["result"], certificate["rest"]
    totals, now = certificate["totals"], start
    floor = result["ub"] + result["all_optima"]  # below, no run that proves it pruned
    expect(result["ub"] <= start, f"{result['ub']} is above all schedules")
    parts = {row[0]: Part(row, n_jobs) for row in certificate["units"]}
    known = [bound for bound, _ in certificate.get("bounds", ())]
    for number, attempt, _, _, *counts, ubs, alone, _ in certificate["leases"]:
        name = f"lease {number}.{attempt}"
        expect(number in parts, f"{name} is of no unit")
        ok = floor <= ubs[1] <= ubs[0] <= start and ubs[1] <= now
        expect(ok, f"{name} pruned at {ubs}: expected to fall, and not below {floor}")
        ok = not known or set(ubs) <= set(known)
        expect(ok, f"{name} pruned at {ubs}: expected bounds of schedules, {known}")
        now = ubs[1]
        ended = check_closed(name, counts[2], counts[1], n_jobs)
        ok = not alone or ended == parts[number].leaves
        expect(ok, f"{name} did not finish its unit alone")
        parts[number].open -= ended
        parts[number].add(*counts[:2], dict(counts[2]), *ubs)
    for part in parts.values():
        if part.parent:
            parts[part.parent].open -= part.leaves
    some = any(rest.values())
    for part in reversed(parts.values()):
        text = f"unit {part.number}: {part.open} of its leaves are not accounted for"
        expect(part.open == 0 or (part.open > 0 and some), text)
        part.whole = part.whole and part.open == 0
        if part.whole and part.roots is not None:
            part.check_tree(n_jobs)
        if part.parent:
            above = parts[part.parent]
            above.add(*part.counts, part.most, part.least)
            above.whole = above.whole and part.whole
    root = next(iter(parts.values()))
    check_closed("the rest", rest["closed"], rest["leaves"], n_jobs)
    check_closed("the totals", totals["closed"], totals["leaves"], n_jobs)
    if some:
        full = len(parts) >= MAX_ENTRIES or n_bytes(certificate) >= LISTED_BYTES
        expect(full, "units are only summed up, though there is room to list them")
        # at any bounds that the claim allows
        root.add(rest["decomposed"], rest["leaves"], dict(rest["closed"]), start, floor)
        root.whole = True
    expected = totals["decomposed"], totals["leaves"], dict(totals["closed"])
    expect(root.counts == expected, f"the leases have {root.counts}, not the totals")
    root.check_tree(n_jobs)
    return parts


def own_parts(certificate, parts):
    """Units without the roots of those that were made from them: the whole tree.

    What lists no roots counts in the unit above; the rest, and units that some of it
    was made from, are one part. None if there would be too many roots.
    """
    n_jobs, start = size_of(certificate)
    result, rest = certificate["result"], certificate["rest"]
    homes, own, given = {}, {}, {}
    for row in certificate["units"]:
        number, parent, _, _, roots = row
        homes[number] = number if roots is not None else homes[parent]
        if roots is not None:
            own[number], given[number] = Part(row, n_jobs), set()
            if parent:
                given[homes[parent]].update(map(tuple, own[number].roots))
    for number, _, _, _, *counts, ubs, _, _ in certificate["leases"]:
        own[homes[number]].add(*counts[:2], dict(counts[2]), *ubs)
    room = MOST_PARTS
    for number, part in own.items():
        part.roots = below(part.roots, given[number], n_jobs, room)
        if part.roots is None:
            return None
        room -= len(part.roots)
    if any(rest.values()):
        first, *more = sorted({homes[one.number] for one in parts.values() if one.open})
        loose = own[first]
        for number in more:
            part = own.pop(number)
            loose.roots += part.roots
            loose.add(*part.counts, part.most, part.least)
        loose.roots.sort()
        floor = result["ub"] + result["all_optima"]
        loose.add(
            rest["decomposed"], rest["leaves"], dict(rest["closed"]), start, floor
        )
    found = sum(
        leaves_below(Counter(map(len, part.roots)).items(), n_jobs)
        for part in own.values()
    )
    expect(found == factorial(n_jobs), "the units are not the whole tree")
    return [part for part in own.values() if part.roots or part.nodes]


def below(roots, given, n_jobs, room):
    """Roots of what is below some, but not below those given away; None: too many."""
    above = set()
    for path in given:
        while path and path[:-1] not in above and len(above) <= room:
            path = path[:-1]
            above.add(path)
    if len(above) > room:
        return None
    found, stack = [], sorted(map(tuple, roots), reverse=True)
    while stack:
        path = stack.pop()
        if path in above:
            digits = range(n_jobs - len(path))
            stack += [(*path, digit) for digit in reversed(digits)]
        elif path not in given:
            found.append(path)
        if len(found) > room:
            return None
    return found


def n_bytes(certificate):
    """Return what the lists take, as the run estimates it."""
    total = sum(32 + 7 * len(row[6]) for row in certificate["leases"])
    for _, _, leaves, _, roots in certificate["units"]:
        packed = isinstance(roots, str)
        paths = len(roots) if packed else sum(len(path) + 1 for path in roots or ())
        total += 16 + int(leaves).bit_length() // 7 + paths
    return total


# -- exploring again -------------------------------------------------------------------


class Audit:
    """Explores the tree again, or parts of it that are drawn at random.

    Parameters
    ----------
    tree
        Has the methods of ``Tree``, from ``explore`` to ``descend``.
    nodes, most
        Budget of all draws together, which is also what the whole tree may take; and of
        each of them.
    draws
        Half of them by the nodes that the leases claim, half by random descents.
    say
        Is told what is explored.
    """

    def __init__(self, certificate, parts, tree, seed, nodes, most, draws, say=None):
        self.certificate, self.parts, self.tree = certificate, parts, tree
        self.left, self.most, self.draws = nodes, most, draws
        self.little = max(1, min(most, nodes // (4 * draws), MOST_BELOW))  # a descent's
        self.say = say or (lambda _text: None)
        content = json.dumps(certificate, sort_keys=True).encode()
        self.rng = random.Random(
            hashlib.sha256(content + str(seed).encode()).hexdigest()
        )
        result = certificate["result"]
        self.floor = result["ub"] + result["all_optima"]
        self.root = next(iter(parts.values()))
        self.claimed = self.root.nodes
        nodes = (row[4] + row[5] for row in certificate["leases"])
        self.ends = list(accumulate(nodes))  # of each lease, among all claimed nodes
        self.again = {}  # number of units explored again: whether that checked them
        self.found = 0  # nodes
        self.inside = self.inside_nodes = 0  # descents in units that are too large
        self.each = max(1, min(INSIDE, STEPS // size_of(certificate)[0]))
        self.ratios = [], []  # estimated over claimed nodes, where bounds fell to, from
        self.parents = {row[1] for row in certificate["units"]}
        self.own = set()  # numbers of those whose own parts were explored again
        self.homes = {}  # of a root: the last unit with it
        for part in parts.values():
            self.homes |= {tuple(path): part for path in part.roots or ()}

    def run(self, everything=False):
        """Return the verdict, and what it rests on."""
        if not everything:
            expect(self.draws > 1, "expected two draws or more")
        descents = [
            self.tree.descend(self.rng, self.floor) for _ in range(self.draws // 2)
        ]
        mean = sum(sizes[0] for _, sizes in descents) // max(1, len(descents))
        # a mean of estimates without bias, of numbers above 0 (Markov's inequality)
        text = f"random descents say {mean} nodes: there are more than {self.claimed}"
        expect(mean <= SURE * self.claimed, text)
        own = own_parts(self.certificate, self.parts)
        if everything or self.claimed <= self.left:
            return PROVED, self.whole() if own is None else self.by_units(own)
        some = self.left // PART  # descents may say by far too little
        if mean <= some:
            self.say(f"explores the tree, which may have no more than {some} nodes")
            ((_, found),) = self.tree.explore_all([([[]], self.floor, some)])
            if found is not None:
                return PROVED, self.whole(found)
        self.explore_own(own or [])
        homes = self.descend([(*descent, 0) for descent in descents], self.little)
        fallen = len(homes)
        chosen = [self.weighted() for _ in range(self.draws - self.draws // 2)]
        # those that descents ended in, too: what is below these may be hidden there
        wanted = [*(part for part in chosen if part), *homes]
        self.explore({part.number: part for part in wanted}.values())
        checked = [part for part in chosen if part and self.again.get(part.number)]
        large = [part for part in chosen if part and not self.again.get(part.number)]
        self.sample(large)
        text = (
            f"{len(checked)} of {len(chosen)} draws by claimed nodes, and {fallen} of "
            f"{len(descents)} random descents, were explored again: {self.found} "
            f"nodes, {self.found / max(1, self.claimed):.3%} of those claimed"
        )
        firm = sum(map(self.knows, homes))
        if min(len(checked), firm) >= LEAST_DRAWS and 2 * len(checked) >= len(chosen):
            return AUDITED, text
        if not large:
            return TOO_LITTLE, text
        low, high = interval(self.ratios[0])[0], interval(self.ratios[1])[1]
        text += (
            f"; {len(large)} draws fell in units too large for that: {self.inside} of "
            f"{self.each * len(large)} descents there ended, with {self.inside_nodes} "
            f"nodes, and by samples these units have {low:.3g} to {high:.3g} times the "
            "nodes that they claim"
        )
        ok = len(checked) + len(large) >= LEAST_DRAWS <= min(fallen, len(large))
        ok = ok and 2 * self.inside >= self.each * len(large)
        ok = ok and low <= 1 <= high <= WIDE * low
        return (SAMPLED if ok else TOO_LITTLE), text

    def explore_own(self, own):
        """Explore again what units gave nobody, where others were made from them.

        Else a part of the tree that nobody explored could pass for a closed subtree of
        such a unit, which has so many nodes that no descent is below too many.
        """
        parts = [part for part in own if part.number in self.parents]
        parts = sorted(
            (part for part in parts if part.nodes <= self.most),
            key=lambda part: part.nodes,
        )
        ends = accumulate(part.nodes for part in parts)
        parts = [part for part, end in zip(parts, ends) if 2 * end <= self.left]
        self.say(f"explores what {len(parts)} units kept to themselves")
        jobs = [(part.roots, part.least, part.nodes) for part in parts]
        for index, found in self.tree.explore_all(jobs):
            parts[index].check_again(found, parts[index].least)
            self.left -= found[0] + found[1]
            self.own.add(parts[index].number)

    def knows(self, part):
        """Whether a unit, or what it kept to itself, was explored again."""
        return part.number in self.own or bool(self.again.get(part.number))

    def by_units(self, own):
        """Explore every unit, without those made from it; returns what was found.

        At the least bound, and where it fell at the greatest, up to the claimed number.
        """
        self.say(f"explores {len(own)} units, {self.claimed} nodes")
        jobs = [(part.roots, part.least, part.nodes) for part in own]
        nodes = done = 0
        for index, found in self.tree.explore_all(jobs):
            part = own[index]
            part.check_again(found, part.least)
            nodes, before = nodes + found[0] + found[1], done
            done += part.nodes
            if 100 * done // self.claimed > 100 * before // self.claimed:
                self.say(f"explored {done} of the claimed nodes")
        text = f"the whole tree, unit by unit ({len(own)}), has {nodes} nodes"
        fell = [part for part in own if not part.exact]
        if not fell:
            return f"{text}, as claimed"
        known = 0
        jobs = [(part.roots, part.most, part.nodes) for part in fell]
        for index, reached in self.tree.reach_all(jobs):
            self.require_reached(fell[index], reached)
            known += bool(reached)
        return (
            f"{text}, and {self.claimed} are claimed: bounds fell in some units "
            f"({len(fell)}), which have no less at those that they fell from ({known})"
        )

    def whole(self, found=None):
        """Explore the tree as one unit; returns what was found."""
        if found is None:
            self.say(f"explores the whole tree, up to {self.claimed} nodes")
            ((_, found),) = self.tree.explore_all([([[]], self.floor, self.claimed)])
        self.root.check_again(found, self.floor)
        if not self.root.exact:
            count = min(self.claimed, max(1, self.left))
            ((_, reached),) = self.tree.reach_all([([[]], self.root.most, count)])
            self.require_reached(self.root, reached)
        nodes = found[0] + found[1]
        return f"the whole tree has {nodes} nodes below {self.floor}"

    def require_reached(self, part, reached):
        """Check that there are as many nodes as claimed where the bound fell from."""
        text = f"unit {part.number}: {part.nodes} nodes, at {part.most} there are less"
        expect(reached is not False, text)

    def weighted(self):
        """Draw a unit by the nodes that its leases claim; None: it cannot be explored.

        That is the rest, or a unit of which some is there.
        """
        leases = self.certificate["leases"]
        index = bisect_right(self.ends, self.rng.randrange(max(1, self.claimed)))
        part = self.parts[leases[index][0]] if index < len(leases) else None
        while part is not None and part.roots is None:
            part = self.parts.get(part.parent)
        return part if part is not None and part.whole else None

    def explore(self, parts):
        """Explore units again that are small enough, and note which were checked."""
        fit, room = [], self.left
        for part in parts:
            if part.nodes <= min(self.most, room):
                fit.append(part)
                room -= part.nodes
        self.say(f"explores {len(fit)} units again: {self.left - room} nodes")
        jobs = [(part.roots, part.least, part.nodes) for part in fit]
        fell = []
        for index, found in self.tree.explore_all(jobs):
            part = fit[index]
            part.check_again(found, part.least)
            nodes = found[0] + found[1]
            self.found, self.left = self.found + nodes, self.left - nodes
            self.again[part.number] = part.exact
            if not part.exact:
                fell.append((part, 2 * nodes >= part.nodes))
        # where the bound fell: no more than at the bound that it fell from
        jobs = [(part.roots, part.most, part.nodes) for part, _ in fell]
        for index, reached in self.tree.reach_all(jobs):
            part, half = fell[index]
            self.require_reached(part, reached)
            self.again[part.number] = bool(reached) and half

    def sample(self, parts):
        """Look into units that are too large: how many nodes they have, what is there.

        Where the bound fell, one has no fewer nodes than at the least bound, and no
        more than at the greatest.
        """
        self.say(f"draws from {len(parts)} units that are larger")
        walk = min(4 * self.little, MOST_WALK)
        jobs = [
            (part.roots, ub, random.Random(self.rng.random()), walk)
            for part in parts
            for ub in (part.least, part.most)[: 2 - part.exact]
        ]
        nodes = dict(self.tree.estimate_all(jobs))
        found = iter([nodes[index] for index in range(len(jobs))])
        starts = []
        for part in parts:
            for ub, ratios in zip((part.least, part.most), self.ratios):
                if ratios is self.ratios[0] or not part.exact:
                    nodes = next(found)
                    ratio = max(1, nodes) / part.nodes
                # without bias, and above 0 (Markov's inequality)
                ok = ub > part.least or ratio <= SURE * self.draws
                text = f"unit {part.number}: {part.nodes} nodes, by samples {nodes:.3g}"
                expect(ok, text)
                ratios.append(ratio)
            for _ in range(self.each):
                start = self.rng.choice(part.roots)
                descent = self.tree.descend(self.rng, self.floor, start)
                starts.append((*descent, len(start)))
        before = self.left
        self.inside = len(self.descend(starts, max(FEW, self.little // self.each)))
        self.inside_nodes = before - self.left

    def descend(self, descents, little):
        """Explore below a node of each random descent; returns the units of the ended.

        A descent has a path, sizes below its nodes, and the least depth of the node,
        which has about ``little`` nodes. What is found there lies in units that cannot
        have explored less. If it has more, the next node of the path follows.
        """
        waiting, homes = [], []
        for path, sizes, least in descents:
            small = (8 * size <= little or size == 1 for size in sizes)
            waiting.append((path, max(least, [*small].index(True))))
        while waiting and self.left > 0:
            most = min(little, max(1, self.left // len(waiting)))
            self.say(f"explores below {len(waiting)} nodes, up to {most} each")
            jobs = [([path[:depth]], self.floor, most) for path, depth in waiting]
            again = []
            for index, found in self.tree.explore_all(jobs):
                path, depth = waiting[index]
                if found is None:
                    self.left -= most
                    if depth < len(path):
                        again.append((path, depth + 1))
                    continue
                nodes = found[0] + found[1]
                self.left -= nodes
                ends = [tuple(path[:end]) for end in range(depth, -1, -1)]
                part = next(self.homes[end] for end in ends if self.whole_home(end))
                below = f"{nodes} below {path[:depth]}"
                text = f"unit {part.number}: {part.nodes} nodes, but {below}"
                expect(nodes <= part.nodes, text)
                homes.append(part)
            waiting = again
        return homes

    def whole_home(self, path):
        """Whether a unit that lists a root accounts for all of it."""
        return path in self.homes and self.homes[path].whole


def say(text):
    """Print what is explored."""
    print(f"...      {text}", flush=True)


def count_of(text, least=0):
    """Return a whole number of the command line."""
    try:
        if (value := int(text)) >= least:
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a whole number >= {least}, got {text}")


def main():
    """Check a certificate; returns the exit code."""
    text = "Check a certificate of dpbb. Needs only Python; Numba makes it fast."
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("certificate")
    text = "to explore again (default: %(default)s)"
    parser.add_argument("--nodes", type=count_of, default=2_000_000, help=text)
    text = "of a part (default: a tenth)"
    parser.add_argument("--most-nodes", type=count_of, help=text)
    parser.add_argument("--all", action="store_true", help="explore the whole tree")
    parser.add_argument("--seed", default=random.SystemRandom().randrange(2**32))
    there = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    text = "that explore, where Numba is installed"
    threads = {"type": lambda text: count_of(text, 1), "default": len(there(0))}
    parser.add_argument("--threads", **threads, help=text)
    args = parser.parse_args()
    try:
        certificate = read(args.certificate)
    except (OSError, ValueError, MemoryError) as error:
        got = getattr(error, "strerror", None) or str(error) or "too little memory"
        print(f"FAILED  {args.certificate}: expected a certificate of dpbb, got: {got}")
        return 2
    try:
        if is_of_root(certificate):
            check_form(certificate)
            found = check_root(certificate)
            print(f"instance {called(certificate)!a}")
            print(f"{PROVED}: {found}")
            return 0
        for name, check in STRUCTURE:
            parts = check(certificate)
            print(f"ok      {name}", flush=True)
        instance, result = certificate["instance"], certificate["result"]
        print(f"instance {called(certificate)!a}, digest {instance['digest']}")
        print(f"claim    {result['status']}: nothing below {result['lower_bound']}")
        print(f"seed     {args.seed}", flush=True)
        most = args.nodes // 10 if args.most_nodes is None else args.most_nodes
        tree = Tree(certificate, args.threads, say)
        audit = Audit(certificate, parts, tree, args.seed, args.nodes, most, DRAWS, say)
        verdict, text = audit.run(args.all)
    except (Failed, RecursionError) as error:
        print(f"FAILED  {error}")
        return 1
    except (MemoryError, KeyboardInterrupt) as error:
        verdict, text = TOO_LITTLE, f"it was stopped: {type(error).__name__}"
    print(f"{verdict}: {text}")
    return EXIT[verdict]


STRUCTURE = (
    ("form", check_form),
    ("instance, schedule and claim", check_instance),
    ("units are parts of each other", check_units),
    ("every leaf is closed once", check_sums),
)

if __name__ == "__main__":
    sys.exit(main())
