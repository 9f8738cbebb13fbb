import { describe, expect, test } from 'vitest';
import { circleOf, scatteredFolders, wrongImports } from '../../../scripts/layers.ts';

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
});
