import { describe, expect, test } from 'vitest';
import { circleOf, scatteredFolders, unusedLists, wrongImports } from '../../../scripts/layers.ts';

describe('the check of imports finds', () => {
  test('a circle of files, also of one folder', () => {
    const imports = [
      { from: 'src/telemetry/a.ts', to: 'src/telemetry/b.ts' },
      { from: 'src/telemetry/b.ts', to: 'src/telemetry/c.ts' },
      { from: 'src/telemetry/c.ts', to: 'src/telemetry/b.ts' },
    ];
    expect(circleOf(imports)).toEqual(['src/telemetry/b.ts', 'src/telemetry/c.ts', 'src/telemetry/b.ts']);
    expect(circleOf(imports.slice(0, 2))).toBeUndefined();
  });

  test('two first-level folders that import from each other', () => {
    expect(scatteredFolders([['proxy/client'], ['http/errors'], ['http/server'], ['proxy/routes']])).toEqual(['proxy']);
    expect(scatteredFolders([['http/errors'], ['http/server'], ['proxy/client'], ['proxy/routes']])).toEqual([]);
  });

  test('an import from a higher layer', () => {
    expect(wrongImports([{ from: 'src/http/errors/a.ts', to: 'src/proxy/client/b.ts' }])).toEqual([
      'src/http/errors/a.ts imports src/proxy/client/b.ts: src/http/errors may not import from src/proxy/client',
    ]);
    expect(wrongImports([{ from: 'src/proxy/client/a.ts', to: 'src/http/errors/b.ts' }])).toEqual([]);
  });

  test('an import of a folder that is apart, unless it is listed', () => {
    expect(wrongImports([{ from: 'src/devnet/node/a.ts', to: 'src/aggregation/aggregator-error.ts' }])).toEqual([
      'src/devnet/node/a.ts imports src/aggregation/aggregator-error.ts: src/devnet may import only what scripts/layers.ts lists for it',
    ]);
    expect(wrongImports([{ from: 'src/bls/pairing/a.ts', to: 'src/telemetry/logger.ts' }])).toHaveLength(1);
    expect(wrongImports([{ from: 'src/devnet/node/a.ts', to: 'src/p2p/wire/frames.ts' }])).toEqual([]);
    expect(wrongImports([{ from: 'src/devnet/node/a.ts', to: 'src/devnet/devnet.ts' }])).toEqual([]);
  });

  test('an entry of such a list that is not needed', () => {
    const used = [{ from: 'src/bls/field/a.ts', to: 'src/bls/gen/fused.ts' }];
    expect(unusedLists(used)).toContain(
      'scripts/layers.ts lists warp/bls-lengths.ts for src/bls/field, which does not import it',
    );
    expect(unusedLists(used).some((problem) => problem.includes('lists bls/gen '))).toBe(false);
  });
});
