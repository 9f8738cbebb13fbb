import * as blst from '@chainsafe/blst';
import { bls12_381 as b } from '@noble/curves/bls12-381.js';

const DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
const msg = new Uint8Array(100).fill(7);
const N = 200;
const sks = Array.from({ length: N }, (_, i) => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(i + 1)));
const pks = sks.map((s) => s.toPublicKey());
const sigs = sks.map((s) => s.sign(msg).toBytes());
function t(name: string, f: () => void, reps = 5) {
  const r: number[] = [];
  for (let i = 0; i < reps; i++) {
    const s = performance.now();
    f();
    r.push(performance.now() - s);
  }
  r.sort((a, b) => a - b);
  console.log(name.padEnd(40), r[reps >> 1]!.toFixed(4));
}
t(
  'ref per sig',
  () => {
    for (let i = 0; i < N; i++) {
      const s = blst.Signature.fromBytes(sigs[i]!, true);
      if (!blst.verify(msg, pks[i]!, s, false, false)) throw 1;
    }
  },
  3,
);
t('blst decompress 200', () => {
  for (let i = 0; i < N; i++) blst.Signature.fromBytes(sigs[i]!, false);
});
t('blst decompress+validate 200', () => {
  for (let i = 0; i < N; i++) blst.Signature.fromBytes(sigs[i]!, true);
});
const bs = sigs.map((s) => blst.Signature.fromBytes(s));
t('blst agg sigs 200', () => blst.aggregateSignatures(bs));
t('blst agg pks 200', () => blst.aggregatePublicKeys(pks));
t('blst verify 1', () => blst.verify(msg, pks[0]!, bs[0]!));
t('blst pk decompress x200', () => {
  for (const p of pks) blst.PublicKey.fromBytes(p.toBytes());
});
t('blst pk uncompressed x200', () => {
  for (const p of pks) blst.PublicKey.fromBytes(p.toBytes(false));
});
const H = b.longSignatures.hash(msg, DST);
for (let k = 0; k < 2; k++) {
  t('noble hash', () => {
    b.longSignatures.hash(msg, DST);
  });
  t('noble G2.fromBytes', () => {
    b.G2.Point.fromBytes(sigs[0]!);
  });
  const S = b.G2.Point.fromBytes(sigs[0]!),
    P = b.G1.Point.fromBytes(pks[0]!.toBytes());
  const S2 = b.G2.Point.fromBytes(sigs[1]!),
    P2 = b.G1.Point.fromBytes(pks[1]!.toBytes());
  t('noble G1.fromBytes', () => {
    b.G1.Point.fromBytes(pks[0]!.toBytes());
  });
  t('g2 add x100', () => {
    let x = S;
    for (let i = 0; i < 100; i++) x = x.add(S2);
  });
  t('g2 dbl x100', () => {
    let x = S;
    for (let i = 0; i < 100; i++) x = x.double();
  });
  t('g1 add x100', () => {
    let x = P;
    for (let i = 0; i < 100; i++) x = x.add(P2);
  });
  t('torsion', () => S.isTorsionFree());
  t('clearCofactor', () => {
    S.clearCofactor();
  });
  t('toAffine G2', () => {
    S.add(S2).toAffine();
  });
  t('pairingBatch 2 w final', () => {
    b.pairingBatch([
      { g1: P, g2: H },
      { g1: b.G1.Point.BASE, g2: S },
    ]);
  });
  t('pairingBatch 2 no final', () => {
    b.pairingBatch(
      [
        { g1: P, g2: H },
        { g1: b.G1.Point.BASE, g2: S },
      ],
      false,
    );
  });
  const f = b.pairingBatch(
    [
      { g1: P, g2: H },
      { g1: b.G1.Point.BASE, g2: S },
    ],
    false,
  );
  t('final exp', () => {
    b.fields.Fp12.finalExponentiate(f);
  });
  t('precompute', () => {
    b.utils.calcPairingPrecomputes(H);
  });
  const pr = b.utils.calcPairingPrecomputes(H),
    pr2 = b.utils.calcPairingPrecomputes(S);
  const pa = P.toAffine();
  t('millerBatch 2 precomp', () => {
    b.millerLoopBatch([
      [pr, pa.x, pa.y],
      [pr2, pa.x, pa.y],
    ]);
  });
  t('millerBatch 1 precomp', () => {
    b.millerLoopBatch([[pr, pa.x, pa.y]]);
  });
  t('Fp12 mul x100', () => {
    let x = f;
    for (let i = 0; i < 100; i++) x = b.fields.Fp12.mul(x, f);
  });
  t('fp mul x1000', () => {
    let x = pa.x;
    for (let i = 0; i < 1000; i++) x = b.fields.Fp.mul(x, pa.y);
  });
}
