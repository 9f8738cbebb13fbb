import { test } from 'vitest';
import { systemClock } from '../../src/primitives/clock.ts';
import { HttpDoor } from './http-door.ts';
import { createModelScheme } from './model-bls.ts';
import { planOf } from './plan.ts';
import { World } from './world.ts';

test('dev', async () => {
  const door = await HttpDoor.open(systemClock);
  const schemes = { model: createModelScheme(true), 'model without defects': createModelScheme(false) };
  const start = performance.now();
  const from = Number(process.env['SEED'] ?? 1), count = Number(process.env['COUNT'] ?? 200);
  const codes: Record<string, number> = {};
  let bad = 0, coll = 0, virt=0;
  for (let seed = from; seed < from + count; seed += 1) {
    const plan = planOf(seed);
    const world = new World(plan, schemes[plan.bls as 'model']);
    const report = await world.run(door);
    coll += report.collections; virt += report.virtualMs;
    for (const o of report.outcomes) { const k = o.kind === 'error' ? o.code : o.kind; codes[k] = (codes[k] ?? 0) + 1; }
    if (report.violations.length > 0) { bad += 1; if (bad < 12) process.stderr.write(`seed ${seed} [${[...plan.themes]}]: ${report.violations.slice(0, 3).join('\n   ')}\n`); }
    if (count === 1) process.stderr.write(report.digest + '\n');
  }
  const ms = performance.now() - start;
  process.stderr.write(`${count} in ${ms.toFixed(0)} ms, ${(ms / count).toFixed(2)} each, bad ${bad}, coll ${coll}, virt ${(virt/1000).toFixed(0)} s ${JSON.stringify(codes)}\n`);
}, 600_000);
