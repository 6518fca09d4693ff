"""Check a certificate of dpbb: this file alone, with Python's standard library.

    python checker.py certificate.json.gz [--nodes 200000] [--all] [--seed N]

It shares no code with the solver. It recomputes the makespan of the schedules, adds up
the books of the run, and explores the tree again, or parts of it, slowly, with a bound
and a branching rule of its own, which must give the same counts to the last node.
``docs/proof.md`` says what that proves, and what it does not. Exit codes: 0 proved
again, or audited; 1 it does not hold; 2 no certificate; 3 not checked enough.
"""

import argparse
import base64
import gzip
import hashlib
import json
import math
import random
import re
import struct
import sys
import zlib
from bisect import bisect_right
from collections import Counter
from functools import cache
from itertools import accumulate
from math import inf
from operator import lt

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
PAIR = r"\d{1,4}-\d{1,4}"
CASCADE = re.compile(rf"cascade:(\d{{1,4}})-(\d{{1,4}}):({PAIR}(?:,{PAIR})*)")
MOST_JOBS = MOST_MACHINES = 1024
MOST_TIME = 2**30  # of all operations together
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
PROVED, AUDITED, TOO_LITTLE = "proved again", "audited", "not checked enough"
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
        raise ValueError(f"{path}: no certificate, or a damaged one: {error}") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a certificate of dpbb")
    if certificate.get("schema") not in (SCHEMA, OLD_SCHEMA, ROOT_SCHEMA):
        raise ValueError(f"{path}: expected schema {OLD_SCHEMA} to {ROOT_SCHEMA}")
    return certificate


# -- the form --------------------------------------------------------------------------


def maybe(form):
    """Form of what may be null."""
    return lambda value: None if value is None else misfit(value, form)


def roots_form(value):
    """Form of the roots of a unit: paths, packed paths, or null."""
    return (
        None if value is None else misfit(value, str if type(value) is str else [[int]])
    )


COUNTS = {"decomposed": int, "leaves": int, "closed": [(int, int)]}
LEASE = (int, int, str, str, int, int, [(int, int)], (int, int), bool, str)
TREE = {"rule_version": int, "branching": str, "branching_ub": maybe(int)}
TREE |= {"bound": str, "root_order": maybe([int])}
SHOP = {
    "instance": {"name": str, "digest": str, "times": [[int]]}
    | {"kind?": str, "bound?": str},
    "tree": TREE | {"n_jobs?": int, "trivial_ub?": int},
}
OTHER = {  # of another kind: what its books need; the family knows the rest
    "instance": {"kind": str, "digest": str, "*": None},
    "tree": TREE | {"n_jobs": int, "trivial_ub": int},
}
FORM = {
    "format": str,
    "schema": int,
    "result": {"status": str, "makespan": maybe(int), "permutation": maybe([int])}
    | {"lower_bound": int, "ub": int, "all_optima": bool, "objective?": str}
    | {"seconds?": float, "engine?": str, "versions?": [(str, str)]},
    "totals": COUNTS,
    "units": [(int, int, str, int, roots_form)],  # id, parent, leaves, number, roots
    "leases": [LEASE],  # unit, attempt, seat, engine, counts, UBs, alone, version
    "rest": COUNTS,
}
ROOT_FORM = {
    "format": str,
    "schema": int,
    "result": {"status": str, "makespan": int, "permutation": [int]}
    | {"lower_bound": int, "objective?": str}
    | {"seconds?": float, "engine?": str, "versions?": [(str, str)]},
}
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
        return len(times), sum(map(sum, times)) + 1
    return certificate["tree"]["n_jobs"], certificate["tree"]["trivial_ub"]


def check_form(certificate):
    """Nothing is too large; everything is there, of its type, and nothing else is."""
    check_sizes(certificate)
    shop = kind_of(certificate) == KIND
    if is_of_root(certificate):
        known = SHOP if shop else OTHER
        where = misfit(certificate, ROOT_FORM | {"instance": known["instance"]})
        expect(where is None, f"{where} is missing, unknown, or of another type")
        expect(certificate["format"] == FORMAT, f"expected the format {FORMAT}")
        return
    form = FORM | (SHOP if shop else OTHER)
    if certificate.get("schema") == SCHEMA:
        form |= BOUNDS
    where = misfit(certificate, form)
    expect(where is None, f"{where} is missing, unknown, or of another type")
    known = certificate["format"], certificate["schema"]
    allowed = (FORMAT, SCHEMA), (FORMAT, OLD_SCHEMA)
    expect(known in allowed, f"expected {FORMAT} {SCHEMA}, got {known}")
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


def ends_of(times, order):
    """When each machine is free after some jobs."""
    ends = [0] * len(times[0])
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


def canonical_of(times):
    """Digest that the order of the jobs, and reversed machines, do not change."""
    return min(digest_of(sorted(times)), digest_of(sorted(row[::-1] for row in times)))


# Flow shops of Taillard, ta001 to ta120, and of Vallada, Ruiz and Framinan, VFR10_5_1
# to VFR800_60_10, in base 85: the first 4 bytes of the digest, 4 of the canonical one,
# and the makespan of the best schedule known in 2026 (2 bytes).
BENCHMARKS = """
V8aqeL1S=L1pbv?$Y4o|&MyT|VXvJxV`ZY$1UX#+2eqCdyj%qh)>8O_DbR&D1k?GGk&Oh%uKEP4yEFLgBsuwW1k#
w0txZXnV1fj;?|46nF<x4I1kUd3A=z%pbNd8T(d*CrdH+xu1}@|jcNgPMJ%a{&r%?U?Xf{~j1=#(r3^*EQLo)?oh
a{i(sfBY)1&eJ7L*D}|3YP_Sk!@Kwr9;;~1<a#uMQ~K=zkdb-Q<wDbBb`0E204@E)0J<+q(%lez&~2R2H%<k2>Dq
BT&)7YZp;WXhe|6-B^*4I2^Q;vjxrXK>=6jB{&T*zZ%yCs2=jwZk?AO|Gm{9ip2W0LCvHYZ2;ukR<iB8=#%>6h@P
bKd^5o+62)%s-N%=u1!~_U}8>w^fXi{sM3Z$R}Ya$Ly3+)RM;djh=erv${3O%19f=Wc{QyB`sZCe+AV4cvA3op9C
*S(A}@Nf$aZGBGoPWRQ~3Z+S_ATn8Z1J4S30RN^{b_@8)3HVi#Ow!k4Tc--%iq#YQ3EY|_3$GP%r_df43d##JCRR
d<UdLdy3l~%|@_k$5m3s^Kzua&Z1$Nv*3!w4A&dCVDW~&RnNPLv0uWIAb3>9Fkz4S)FcX<olzafY61c7({3sKfn^
ny(}i5m;~y*S5YXMH<$4+ck5Ny{9X9l;KBf{vn+SLZMA4mgdDe4>$gs5uUYdK-l^2$T&k4jM2a&FX~Cn`RDQgMf&
$H9+!J4tOhG7j31y!_y9H40_o`E1Ba}4xPb+JAp{H9}o_!a6HdXi`48e6?KS%`<MZwOfVFb16hi@0nSD16gS<3zv
VlqGh-8$ZRA#aj>v>D6oR;DB&P~W!_O2ChtrlgJQ?(G6n^%zOOnYL4muO&`sEv<q756a6-ZFVL%{_ajxiL<bxP!n
!CQQ;7K$80MdQBb??V*jGf7nC2Qzw&7A#>rRMjC{JK+|Umh%LGI{sP%6<a5wuF9iX$nX@myw_7vFk9=`72Bh~za0
e~vsM-HD??5mIH_Fn7Vk{%IO{TLQhXNGR6kV%rg+fQ7#q80Z18LNx#k!rMaH<7WScze7;OC+IG##0=l&RO1ky524
O~&r7>z^<2TWU71??EQ9U8@g>!nm87*B)6q=2!AB1IV0gt(OJ4+)Hl7-kuk+dNl_Y`Yl*BxVLW3x9q1DsC0>>+&~
Dk}@dpxA42`7Uo&-Dys9nURM}hXg(^5jb8;mJ>yqeDICepYTRxA6jLZ!oL}sse*Q=CDrSTnF~U@g6?!S^5BcGW2H
HrzD8^D=|7zuqjzuZ6zc?P!9P`NKE0$KZ#=VMT-y18K42Q>X4@^e*ED=b8=VNsUyHYF*9XkG|J*;v$EBo_59GGlk
bfhb&WWT4mp`nnFEJ-JQ3QlNw1o$i^<DmyD3b-|wD~iOCaU1ufs=+K2{~|S(q37S`Ww@h<38hTPixX#rCRu7{Dhz
k4X9FKHo&02DCKG2^^qS078@)-;X5KOhs};=AJ&0#zTrPOWciPr6XBDj8SUn_jOE71^L~7F(eNh+aWtB1-^5Pxd3
Vml;e0c-dN;Uc}0=GsLe%4mB2qFTyJ&R?`80Ln;0@$b>MHvBVpc(?X(rX7~roIU00?BZxU~BNZJdFbE714kB$T+<
+0@%m~coC%BXN>}@w`MWm3y)bg0{Jz`E>}1#mIeZtY1siFwtJ)91WD1up?fnXC(HzTJ9#ongDu}61Z1RknC@z@v%
3Ti*4hg$O-AnJ1VuV(pY|E7m}Ue$W^}6gcT_(d1Y1a^qWvsGT*U-gG;W@+MAno}1Ql4LT18$8Ar}Noyrn2qGQ(`;
1sl)wpy}3~M!*Gk)=<<r8%Gjr1$JW?&owT#gG~jjKb@@JP1!x01znbIoI)yFCbk7JoD&!K#<->41*PR5YbL#UQf>
vKpFk_~Ez6MD1(b!ROeaiv&d~+6U|D@2KGen;26XRywKx<=ySfJ7((`8uS`>j72EL2=CxDhh#s>zDw@~1Ujb0lZ2
Bdra3OF1qF>?oDieMQ6Cxpp=298s1Gh!58c2ov;JbaN5tmF4F2CA~U;mTLdK1v3E`!i+*cc5y(1gMQi1QkgS7taL
yKJGEF9!!fq1uIk5G-<aiK@J3G-GBZiWl2Y&1v~9O<ZNhI$;<>Q?8$o**T%Hf1cDny_k$Yw95w___;)4!Hb7HI1t
q2qMI%*GvmXT8nv~oni{28b1^i1dB$wTML2(834VbVqF{>}M1~}9?w9F1{N^b?CVmAuT98lI821Extn=iG@GgbyD
CDICgFict>1~<uky_g#I_TUC47JbKiDc}dz1^Q7Mx-Vre)m;VA0W(P3t6xwW2apxd5JVp@PQC|mjka^t4UkW{2L{
C^6Jm5!zn%vb-e$@O7de`@2U9BF6|of@`CA95=5W>2Q5OG=2aUrEvE|q{3IYcnhdEGP7=Esy2b9*833s8LO!fyw`
DB<x4*G}92;QlOTNZk4is1-)m$dLf8l>6p2<4)4onBv9f`kZlMloSDoX8iy2(i4Ki?Sn`jpGRO?p$Ct3cm9b2<rE
_8x*VmD0&Ej*5&4{J_cs^2{JsWEVUn8&f*A{+%cPtBvaJC2Mytq;PfB;l^+Ht*<p-Lp)Hnm28s43N{+sH<c9|J!m
nOVSpRR^2CE9B@QzKw<-G?}w6CyDF4OH|2GuI6tFE{WBu@sa*Qj<JKXVEm2FF6WRjuOV@=yk4@6D+jK3$gp2bZav
`EH?Gy(0)R@zWLs&hpnR2p#<p-p3A=2L1<`&j34xLU^YJ2j}Vhpka3aCFckGnD2RwH#x%02d|9f@;C+x!WRc<H<L
kyOtE6J2XtaC+N1$BJy!>KUv3rbI1}<E2}&jA&-!?GZ1M>WZ`9OdGc$7Z2>?=r1E!TKbu|f$evTwVjv{MK33Z`1W
+EnvD$fZ5ii+gOoG<zr2@G($?K7Gqf*=V#B`)HeWIzRy2-8oe>9lLqUNi|&-VL+%0uv*>3R5O}2Jv`>IT#BQw@>H
JSwLR;3g5gFYTImxSr`g<KeCJutbNQF3UK)tjmSInHdG3mxx*wYXDfpG3Yew|jqhSjo*N4MFK#x>obfDM3hU@75P
b!>vKR{WK{Vs<0L=5h30&9o6jK9Z4Fd^^Ab<UKH#@pw2!3H#5Q7+|T5Skr#%PqUKiVo}2*<W|Xq{VEbczUSf4Kv9
SK%qP2%qF^6bf!+a>NO4N-+404{?rf2?0ZAwSYC5xRMDhc@JX`w6~_K39T-pi7!895ZwuX<nSaLlA|2$31Eh;^3p
eA%3BGfw^G<wxb)$T33OukSovm_x4H@K8gsR5a?ph43Bp|dPUbJOw@L}PTKDvI#ay)#32Owcn>hr=kf;f+;^HX&2
37HX3%o){(&=B_e6kAw=6dn7M2;XB3s}TSxr|wjbM^~ktYK?Sd=ic@3w_-{Zb1go-1Q3dV_U=Z4~WjH3opqXV15a
{EZYlEnsaS1HfLYw3Xz$mR-Tvauy_l6<QHTEJH?r94E2YHRfsp?N_q^KNAlJ`QDxGX44CNFIz%O&*RKqlx79lxN%
BKZ3+gbNh{-p5U-1lZ_-J;UD$$y*46K=&0vHhISvU;64{k(50|wX!4FonTd*Tn;0R{{!SwzbVL<f{Q3-16)miRK_
WvUA$&i<GRJtwoA3c3KQO<qOHt2zr5SwJKAbDc0O3o^uM8D>Kg_(%&G70b+vxzZ7V3Mi98$xsrXy88-z6ik86Xf~
<a3O$R|T69dLE4K?0H~9ZUH0{^o3t(3aL<9^QabOG6{^!6VFBozt3%ZvYz;ZVk=m870X6ARPqZ;7k46>}4-5EhTk
Sq*Mz|MP^HY9|P3lq#YwtE0xX4wnx5yhuVCRfc33%4iiMRH-Ql%oskWV|)Ik;($04Cz(BRO@@#{Mro;X56w4M*4B
G4Be;SqkM4GE+!4O1^<h_Ol9P94FtE!6CJ(NBg_pATl7pw4T4%#4U^<Ungu$7fY}XP`YFtYCMFw+40<c11+JXEx=
sy3`oWi5MM!SY4qeI%6;BqEB|{E!0?8b^67PeS4!jsdz;SzsGI<VkkkRC<Ip2<?4ki`@GILRp($)^c?fCRVEvrRN
4r!w+aqVB)j)o4pn2`GK$+!Fk4%HZ<$ON|v-#QMg<gA)P$%XL=4Hg(405KaIul@_};=>WNX!|i(430&p(>7B|K%f
l5)w&&ya=A6?41J){kEkAULb?ni%A?A3or6pM4D;P>`LziVG7$}KAZ7Q9CvB0f3^A6;8K!p`Ykm$-Y~clotO!lD4
Oi6+?9mP%E!z$_BMIdBZ^3FN4Obxi<wzA2@6ru;!#YN<9!e_%4X75aUnIOAdBY9@#}!5Z70%v)4m?v;fRnR@zO)V
C#8-clhHC7e4qaEeuhI`&VT%o(k|D(J5C*zS4_48<E}~5Vf{+gxM^J-eIMG6-4-;&;1bB2;&rA+%%w72|IJN=j4-
$d2JsYUY^g0h5jYHd@a@`I!4$tkyNLC3se#H)t_%ZMj>qIr_4#;9J@ix0(I{*(VTM`)mWEqU&5Hb@wstnIR!IluA
F(>Muefd*%5bP##dzLL2cB>Fb`uSPhMb=;75KNPms75)Mxqc8$HJsG1D$0jq5S84=941p}O|uY24wiJd5hAET5MX
tO0J+G#iTn^vGPPp2F~uVM7vzb_yJx1*?)Ml;C#dkhegnFF7zhHDr~WdtvI!U$(m{<-TzM^J7((g$$Unn7aQzryS
VWXYE-Afx7}9SRxcM!P+UOU6=%H?Rz6|)k7=o(`dmFuCI9wOK!Vk=r8USeL9%tmwUToD<-bEhad~lSj2Yhla9-h%
1rynd1=9M10{asW`Q<dWq9_*OwyQp+z=cOL^9BHEa+emgu9_a5T>%{~BIMN==R;d(T1M$-!9-8iq3E4ts=an9z=^
3TYB@jBaBuCp<d*7Wk0JbF+D#oGWR!h!uBsPPsFG&$el&U0h>?(Idl&A^)B!P3A&S5z7aL^@ax==U-mV3Q{BvVE%
ezO*vJtZXW-_Bz<3FuMPB*;^ea~-KQmJlTyCsKg{4S>oIE431xACMs7JPRwC%Gb(DhN$X%E8(GSC17_)nzSoYsf@
I|E1IZ)D@0h-HqV1oR+}rxg-H=rXg%~qECQ#RArX)}c$zCAmk2u_0{CqcD*(sKIx1QaTQe)UbM~Qv1(d*oGTBfh?
RTVCVT&@OtjGA>K*{H8Ga{Hu0UD1APPH=H<$4Bs4tYF&GAT((!b1{-uuL+n6Fuc0D4Ug3GX+1k574<>GRZQ^4OoB
bUguh_GI!s=3Kv+FNdz*~g>nmY55@GXIjD<U6r_#l=`J~+7nC{!DSh8;I-MsA^C_+oiK99BFf>>;2bE}cIxYr8zS
~T9{}DO9SC*PAUFbw;Iujf<eHf=`4;4A2F~aSs;V0OkIlGDNVnjbZu8BFn7T?<uAw(otK76ycgEpfiiB&)u_F=tk
LdddvK8kWo;4>F$yH7r}@9uvkCWI)wKXqrc(&B=&ptnAi)3U@31*@yHKRkrDKejt$3ZXxry-Lcp6$0uXKTH0(*Ml
e@%PT>Q7e2U(NHmeOMj|-R@`QHLc=ATh01k-aCb<a$M$^B$&c$<~?gK_wa?U+gv;R1aM#$$KOD0`(NuWlrq?e@*Q
<ks(M%Iz6kc2bSOY25ss%rw<uR|OIMuo0^P51(jyC_DCV}ZC<be+2^PZ^w6A}tsE-nvdy)@!AZ6Y{3bPJzvNHE3M
GLq|@YP?4#Dom?F6P77$TW+fv+6JkzC3obPz<)W6dPPB@}Tq17T#x72)HWqgJOyk&^PV;zVeQSYb(<)A-;#95)gt
~GhQP{k!-1Cf1YoAkMX@YAQU%i|tQ-d*)VOMbpX17v>yeKtzPFYkuQ<nno%?k;vUsqC7hBr;>LYnVwR0I2iHKIuM
lEhNZ>mx6xdKsEYQuH03wv)!Bd&pDJv3;65v4D>6S}kj(40K$e;oMo=!$Q~uZVXu%TA-yFDo9@}b{<)6`pKauBe9
+BS#>XC^^9?sw*y)AHj;hyjj*pCT4lV(3I0Wbc^g^WBH1D+Q#e+zTDsHJ6dOYpvkqGBv8aDKA;FHsVoPA+o`-hGD
Z^s3RmZWzE-ne|V>t@IxdN(9o55pGwpo1biSv~eV+e<(Zutcx@PlF>u0hz#NL=EHVpXYy>?a3|T#sV^ZmRc$5acl
~V>KH{PoV9Dn_y!(&zax}QId&WW{podlY*2q0$gXizmoNS6G<4&W}G_irpZ#^w47y%>xLs!hCTBYXiq29#|$qIxj
AOlg>#rXD=;qIX30T#46GwRlbmL0x;CH*B2qF5X6cZC28zqC77S&mEt54=F3f^sZH~J}9Gj17)P-(%6BicRGLx#r
ZX)Xh4!8&)3oUM^%^C90A4ongZfx^|jvP@rtPpLbac!T+7y~l{ZhM%W?bZ0Rg}H8O&s@+DQfL+oZpkk*Mz(Vt%4=
?jD5f5eHRQR5b~pbaVtxen1&?-7P_9aOE?a3AcOJ6}PAsD9CR=v{-@`joGD1z+cB9v-s}!~%c+7Vps*b+C7PF$(c
E<jx4{HJ*szP?Pfy*&Pf1t(9cDa{p^xRO100?(5YQgaQ8|*2^dPi;_D3!e3?{IoCAt4bl7y5BWdX7{I;dL-D=A3%
DH)JK%pyxa6dRyjAsYp5YFl>8$XvEPm!5iGQdgY!evQMxf{@r@EJt?N9f4~sHdhvSqgf=B+OGtSwtStFx9Y84`f;
s5TED#tbY{h{|vuyBl8eenIf^M6V0LUveWuSr2xC__cTXGCifj}pyxj<R}RUU#qyMM-IflUIgf#z$ns;6mMFARYk
B{CyDM7p|IfyVnm0F6yOjzfWzZ3maF+LcGzih3t)Zz2}b$d!tE_acM6plvBeivVF<n805sODBqcUb_)mi;Uaeii+
RU++;-E%sh%J?TAL#K;C(oimXkS*FZIM3T=ug0Hj9ZRbo@+ii)<Qc1>}%GT4eH&JhgD0`n4rjlH5J6XjzeXB&-t6
1NB)Cm7UTjzh^&4BRpLNwAIyY#Q4#z&M3oj*x<z*lHnPjE|1YCS~D`BB4epj=bCB0Ski_S5l5b3KR1fr8UUsjdan
HwxLZ;TYruU%&f&=hld9omM*ti%`ZO&5uuerd9!~fW4v?Ul<&}WOi8ayC8?FlHn!~HzkJB3l}j@$PwKH^4HlIGS5
e|Nrn;kAl%1Ol;mcJdvdNaHH#KwABFM0bm5N?$JA`_d+8ve;ZhUj&G9s-zo%XkomGN|T23nqsKK2(xa_#NDo&vYz
`2>?2r@5XOm49tJVlCqsov$x~X76I)7n+^S#qZLQRL@-zoLqIQgz=F(*^i#ek;DJnxV^q%ov(o-vlyz2U0a?Yy2<
!LRBW(cp~dv8;&UTtLx`b5ZF(uZ0!>6mp=V2Wq?2jr<ZGdyroeWtdTcwEqMAeI2pJu-`DLTON;h#q4oIIBp?)q6-
9esPbGV_dK2^Ou6l+T(qTz1_?!lxs<Y=N1J#%^;g+l%LsI~>nKe-CV$^)qDHXR>iXA}>NsM$nhDC;9!G1sYTJBPM
04hvO^soW<qDT8$b;(MstuSF5gT80PRsHzuYM{uG?l)tG*CKBKaPmzRCsT>Q$C(9!7n|i4Rry0G1+2s<;v09qg=!
|~GxyP~ZQwqy-*>H=#v9?omY-$;esV%XNXs@%x3(|0Wu|@)oH$h~8e`B#o`nj?oWv|q%v2S{MqC<K1GApr}&-i+$
PEQ46vKM-Z;;RFEC>F5z
"""
SMALL, LARGE = (
    (range(10, 61, 10), range(5, 21, 5)),
    (range(100, 801, 100), (20, 40, 60)),
)
NAMES = [f"ta{number:03}" for number in range(1, 121)] + [
    f"VFR{jobs}_{machines}_{number}"
    for many, widths in (SMALL, LARGE)
    for jobs in many
    for machines in widths
    for number in range(1, 11)
]
BEST_KNOWN = dict(
    zip(
        NAMES,
        struct.iter_unpack(">4s4sH", base64.b85decode(BENCHMARKS.replace("\n", ""))),
    )
)


def check_name(certificate):
    """Check that a benchmark has its own name, and no bound above a known schedule."""
    instance, bound = certificate["instance"], certificate["result"]["lower_bound"]
    name = instance["name"].strip().upper()
    called = re.fullmatch(r"TA0*([1-9][0-9]*)", name, re.A)
    name = f"ta{called[1]:0>3}" if called else name
    known = BEST_KNOWN.get(name)
    ok = known is None or known[0].hex() == instance["digest"][:8]
    expect(ok, f"it is called {name}, but has another digest")
    canonical = canonical_of(instance["times"])[:8]
    for name, (_, any_order, best) in BEST_KNOWN.items():
        ok = any_order.hex() != canonical or bound <= best
        expect(ok, f"{name} has a schedule of makespan {best}, below {bound}")


class Tree:
    """The search tree: its bounds, and the branching rules, by their definitions."""

    def __init__(self, certificate):
        tree = certificate["tree"]
        self.times = certificate["instance"]["times"]
        self.mirror = [row[::-1] for row in self.times]
        self.n_jobs, n_machines = len(self.times), len(self.times[0])
        self.rule, self.branching_ub = tree["branching"], tree["branching_ub"]
        self.order = tuple(tree["root_order"] or range(self.n_jobs))
        self.all_optima = certificate["result"]["all_optima"]
        self.skips_copies = tree["rule_version"] == EQUAL_JOBS_RULES
        self.machines = range(n_machines)
        self.heads = [min(sum(row[:k]) for row in self.times) for k in self.machines]
        self.tails = [min(sum(row[:k]) for row in self.mirror) for k in self.machines]
        self.depths, pairs = cascade_of(tree["bound"], self.n_jobs, n_machines)
        sums = [[0, *accumulate(row)] for row in self.times]
        self.pairs = [(u, v, johnson(self.times, sums, u, v)) for u, v in pairs]

    def explore(self, roots, ub, most, at_claim=True):
        """Explore subtrees to their end at a fixed upper bound.

        Returns decomposed nodes, leaves and closed subtrees by depth; None if there
        are more than ``most`` nodes. ``at_claim``: no better schedule may be found.
        """
        decomposed, leaves, closed = 0, 0, Counter()
        for path in roots:
            # ancestors from this depth on have their first leaf below path
            owned_from = len(path) - trailing_zeros(path)
            node = (self.order, (), ())
            for depth, digit in enumerate(path):
                decomposed += depth >= owned_from
                side, lower = self.children(node, ub)
                if lower[digit] >= ub:
                    closed[len(path)] += 1
                    break
                node = self.child(node, digit, side)
            stack = [node] if len(node[0]) == self.n_jobs - len(path) else []
            while stack:
                node = stack.pop()
                jobs, prefix, suffix = node
                depth = self.n_jobs - len(jobs)
                if len(jobs) == 1:
                    leaves += 1
                    closed[depth] += 1
                    value = ends_of(self.times, [*prefix, *jobs, *suffix])[-1]
                    # of all optima one of ub - 1 is known
                    ok = not at_claim or value >= ub - self.all_optima
                    expect(ok, f"a schedule of makespan {value} below {ub} was missed")
                else:
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

    def reaches(self, roots, ub, count):
        """Whether subtrees have so many nodes at an upper bound; None: not known."""
        return self.explore(roots, ub, count - 1, at_claim=False) is None

    def explore_all(self, jobs):
        """Explore several; yields the number of each, and what ``explore`` returns."""
        return ((index, self.explore(*job)) for index, job in enumerate(jobs))

    def reach_all(self, jobs):
        """As ``explore_all``, with what ``reaches`` returns."""
        return ((index, self.reaches(*job)) for index, job in enumerate(jobs))

    def descend(self, rng, ub):
        """Walk down from the root, at every node to a random child that is not pruned.

        Returns the path, and for each of its nodes an estimate of the number of nodes
        below, without bias (D. E. Knuth, Math. Comp. 29, 1975).
        """
        node, path, widths = (self.order, (), ()), [], []
        while len(node[0]) > 1:
            side, lower = self.children(node, ub)
            digits = [digit for digit, bound in enumerate(lower) if bound < ub]
            if not digits:
                break
            widths.append(len(digits))
            path.append(rng.choice(digits))
            node = self.child(node, path[-1], side)
        return path, sizes_of(widths)

    def child(self, node, digit, side):
        """Return a node with one job more."""
        jobs, prefix, suffix = node
        rest, job = jobs[:digit] + jobs[digit + 1 :], (jobs[digit],)
        return (rest, prefix, job + suffix) if side else (rest, prefix + job, suffix)

    def children(self, node, ub=inf):
        """Return the side that is taken (1: back), and its children's bounds.

        The side is that of LB1; then copies are closed, others below ``ub`` tightened.
        """
        jobs, prefix, suffix = node
        front, back = self.heads, self.tails[::-1]
        if prefix:
            front = ends_of(self.times, prefix)
        if suffix:
            back = ends_of(self.mirror, suffix[::-1])[::-1]
        remain = [sum(self.times[job][k] for job in jobs) for k in self.machines]
        ahead = lower_bounds(front, back, remain, jobs, self.times)
        behind = lower_bounds(back[::-1], front[::-1], remain[::-1], jobs, self.mirror)
        side = self.back_is_taken(ahead, behind, self.n_jobs - len(jobs))
        lower = behind if side else ahead
        if self.skips_copies:  # of equal jobs, which are neighbors, only the first
            for digit, (one, two) in enumerate(zip(jobs, jobs[1:]), 1):
                if self.times[one] == self.times[two]:
                    lower[digit] = inf
        if self.n_jobs - len(jobs) + 1 in self.depths:
            for digit, job in enumerate(jobs):
                begin, follow = front, back
                if side:
                    follow = ends_of(self.mirror, (*suffix[::-1], job))[::-1]
                else:
                    begin = ends_of(self.times, (*prefix, job))
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


def lower_bounds(front, back, remain, jobs, times):
    """LB1 of appending each job; the mirror image for the back."""
    found = []
    for job in jobs:
        end, bound = 0, 0
        for k, time in enumerate(times[job]):
            start = max(end, front[k])
            bound = max(bound, start + remain[k] + back[k])
            end = start + time
        found.append(bound)
    return found


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


# -- the books -------------------------------------------------------------------------


def trailing_zeros(path):
    """How many ancestors of a node have the same first leaf."""
    return next((z for z, digit in enumerate(reversed(path)) if digit), len(path))


def leaves_below(closed, n_jobs):
    """Leaves of subtrees, given as (depth, number)."""
    return sum(count * factorial(n_jobs - depth) for depth, count in closed)


def check_times(certificate):
    """Check the processing times and their digest; returns them."""
    kind = kind_of(certificate)
    expect(kind == KIND, f"expected a problem of kind {KIND}, got {kind!a}")
    times = certificate["instance"]["times"]
    expect(times and times[0], "there are no processing times")
    expect(all(len(row) == len(times[0]) for row in times), "the times are no table")
    digest = certificate["instance"]["digest"]
    expect(digest_of(times) == digest, "the digest is not that of the processing times")
    ok = sum(map(sum, times)) < MOST_TIME
    expect(ok, f"the times are together {MOST_TIME} or more")
    return times


def check_instance(certificate):
    """Digest of the times; the tree's options; cost of the schedule; the claim."""
    times = check_times(certificate)
    said = certificate["tree"].get("n_jobs", len(times))
    expect(said == len(times), f"expected {len(times)} jobs, got {said}")
    bound = certificate["instance"].get("bound", "lb1")
    check_options(certificate, bound)
    cascade_of(bound, len(times), len(times[0]))
    check_equal_jobs(certificate)
    check_claim(certificate, lambda order: ends_of(times, order)[-1], "makespan")
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


def check_equal_jobs(certificate):
    """Rules of version 2 are for equal jobs, which are neighbors in the root order."""
    tree, times = certificate["tree"], certificate["instance"]["times"]
    if tree["rule_version"] == EQUAL_JOBS_RULES:
        rows = [times[job] for job in tree["root_order"] or range(len(times))]
        kinds = 1 + sum(one != two for one, two in zip(rows, rows[1:]))
        ok = kinds == len({*map(tuple, rows)}) < len(rows)
        expect(ok, "expected equal jobs side by side in the root order")


def check_claim(certificate, cost, objective):
    """Check that the schedule costs what is claimed, where the tree was pruned."""
    result, jobs = certificate["result"], list(range(size_of(certificate)[0]))
    status, value, order = result["status"], result["makespan"], result["permutation"]
    called = result.get("objective", objective)
    expect(called == objective, f"expected a cost called {objective}, got {called!a}")
    if status == "optimal":
        expect(sorted(order or []) == jobs, "the schedule is none of all jobs")
        found = cost(order)
        expect(found == value, f"the schedule has {objective} {found}, not {value}")
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
    value, order = result["makespan"], result["permutation"]
    called = result.get("objective", objective)
    expect(called == objective, f"expected a cost called {objective}, got {called!a}")
    expect(result["status"] == "optimal", "expected the claim of an optimum")
    ok = sorted(order) == list(range(n_jobs))
    expect(ok, "the schedule is none of all jobs")
    found = cost(order)
    expect(found == value, f"the schedule has {objective} {found}, not {value}")
    claimed = result["lower_bound"]
    expect(claimed == value, f"the bound {claimed} is not that of the schedule")
    expect(bound >= value, f"the root has the bound {bound}, below {value}")


def check_root(certificate):
    """Check a certificate without a tree; returns what it rests on."""
    times = check_times(certificate)
    bound = root_bound_of(times)
    check_root_claim(
        certificate,
        len(times),
        lambda order: ends_of(times, order)[-1],
        bound,
        "makespan",
    )
    check_name(certificate)
    return f"the root has the bound {bound}"


def root_bound_of(times):
    """LB1 of the root's children, and LB2 of the root: two machines at a time.

    Machines between two count as time lags; then Johnson's order is the best.
    """
    jobs, machines = range(len(times)), range(len(times[0]))
    mirror = [row[::-1] for row in times]
    heads = [min(sum(row[:k]) for row in times) for k in machines]
    tails = [min(sum(row[:k]) for row in mirror) for k in machines][::-1]
    remain = [sum(row[k] for row in times) for k in machines]
    bound = max(
        min(lower_bounds(heads, tails, remain, jobs, times)),
        min(lower_bounds(tails[::-1], heads[::-1], remain[::-1], jobs, mirror)),
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
        self.little = max(1, min(most, nodes // (4 * draws)))  # for a descent
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
        self.again = {}  # units that were explored again: whether that checked them
        self.found = 0  # nodes
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
        if everything or self.claimed <= self.left:
            own = own_parts(self.certificate, self.parts)
            return PROVED, self.whole() if own is None else self.by_units(own)
        if mean <= self.left:
            found = self.tree.explore([[]], self.floor, self.left)
            if found is not None:
                return PROVED, self.whole(found)
        fallen = sum(self.descent(*descent) for descent in descents)
        chosen = [self.weighted() for _ in range(self.draws - self.draws // 2)]
        checked = sum(part is not None and self.explore(part) for part in chosen)
        text = (
            f"{checked} of {len(chosen)} draws by claimed nodes, and {fallen} of "
            f"{len(descents)} random descents, were explored again: {self.found} "
            f"nodes, {self.found / max(1, self.claimed):.3%} of those claimed"
        )
        ok = min(checked, fallen) >= LEAST_DRAWS and 2 * checked >= len(chosen)
        return (AUDITED if ok else TOO_LITTLE), text

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
            found = self.tree.explore([[]], self.floor, self.claimed)
        self.root.check_again(found, self.floor)
        if not self.root.exact:
            count = min(self.claimed, max(1, self.left))
            reached = self.tree.reaches([[]], self.root.most, count)
            self.require_reached(self.root, reached)
        nodes = found[0] + found[1]
        return f"the whole tree has {nodes} nodes below {self.floor}"

    def require_reached(self, part, reached):
        """Check that there are as many nodes as claimed where the bound fell from."""
        text = f"unit {part.number}: {part.nodes} nodes, at {part.most} there are less"
        expect(reached is not False, text)

    def weighted(self):
        """Draw a unit by the nodes that its leases claim; None: it cannot be explored.

        That is a unit that is too large, or without roots in a larger one, or the rest.
        """
        leases = self.certificate["leases"]
        index = bisect_right(self.ends, self.rng.randrange(max(1, self.claimed)))
        part = self.parts[leases[index][0]] if index < len(leases) else None
        while part is not None and part.roots is None:
            part = self.parts.get(part.parent)
        return part if part is not None and self.fits(part) else None

    def fits(self, part):
        """Whether a unit may be explored again."""
        return part.whole and part.roots is not None and part.nodes <= self.most

    def explore(self, part):
        """Explore a unit again; returns whether its counts are found to be true."""
        if part.number in self.again:
            return self.again[part.number]
        if part.nodes > self.left:
            return False
        self.say(f"explores unit {part.number} again: {part.nodes} nodes")
        found = self.tree.explore(part.roots, part.least, part.nodes)
        part.check_again(found, part.least)
        nodes = found[0] + found[1]
        self.found, self.left = self.found + nodes, self.left - nodes
        checked = part.exact
        if not checked:
            # where the bound fell: no more than at the bound that it fell from
            reached = self.tree.reaches(part.roots, part.most, part.nodes)
            self.require_reached(part, reached)
            checked = bool(reached) and 2 * nodes >= part.nodes
        self.again[part.number] = checked
        return checked

    def descent(self, path, sizes):
        """Explore the tree below a node of a random descent; returns whether it ended.

        What is found there lies in units that cannot have explored less.
        """
        small = (8 * size <= self.little or size == 1 for size in sizes)
        depth = [*small].index(True)
        found = None
        while found is None and depth <= len(path) and self.left > 0:
            most = min(self.little, self.left)
            self.say(f"explores below {path[:depth]}, up to {most} nodes")
            found = self.tree.explore([path[:depth]], self.floor, most)
            self.left -= most if found is None else found[0] + found[1]
            depth += found is None
        if found is None:
            return False
        ends = [tuple(path[:end]) for end in range(depth, -1, -1)]
        part = next(self.homes[end] for end in ends if self.whole_home(end))
        nodes = found[0] + found[1]
        text = (
            f"unit {part.number}: {part.nodes} nodes, but {nodes} below {path[:depth]}"
        )
        expect(nodes <= part.nodes, text)
        return True

    def whole_home(self, path):
        """Whether a unit that lists a root accounts for all of it."""
        return path in self.homes and self.homes[path].whole


def main():
    """Check a certificate; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of dpbb.")
    parser.add_argument("certificate")
    parser.add_argument("--nodes", type=int, default=200_000, help="to explore again")
    parser.add_argument("--most-nodes", type=int, help="of a part (default: a tenth)")
    parser.add_argument("--all", action="store_true", help="explore the whole tree")
    parser.add_argument("--seed", default=random.SystemRandom().randrange(2**32))
    args = parser.parse_args()
    try:
        certificate = read(args.certificate)
    except (OSError, ValueError) as error:
        print(f"FAILED  {error}")
        return 2
    try:
        if is_of_root(certificate):
            check_form(certificate)
            print(f"{PROVED}: {check_root(certificate)}")
            return 0
        for name, check in STRUCTURE:
            parts = check(certificate)
            print(f"ok      {name}", flush=True)
        instance, result = certificate["instance"], certificate["result"]
        print(f"instance {instance['name']!a}, digest {instance['digest']}")
        print(f"claim    {result['status']}: nothing below {result['lower_bound']}")
        print(f"seed     {args.seed}", flush=True)
        most = args.nodes // 10 if args.most_nodes is None else args.most_nodes
        audit = Audit(
            *(certificate, parts, Tree(certificate), args.seed),
            *(args.nodes, most, DRAWS),
            lambda text: print(f"...      {text}", flush=True),
        )
        verdict, text = audit.run(args.all)
    except (Failed, RecursionError) as error:
        print(f"FAILED  {error}")
        return 1
    print(f"{verdict}: {text}")
    return 3 if verdict == TOO_LITTLE else 0


STRUCTURE = (
    ("form", check_form),
    ("instance, schedule and claim", check_instance),
    ("units are parts of each other", check_units),
    ("every leaf is closed once", check_sums),
)

if __name__ == "__main__":
    sys.exit(main())
