import { expect, test } from 'vitest';
import { imageArguments, notesOf, releaseProblems } from '../../../scripts/release.ts';

const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n- next\n\n## 1.2.3 - 2026-01-01\n\n### Added\n\n- a\n\n## 1.2.30\n\n- b\n';

test('a release is that of its tag, with its notes and its chart, and of what is committed', () => {
  const files = { changelog: CHANGELOG, chart: 'version: 7.0.0\nappVersion: 1.2.3\n', uncommitted: '' };
  expect(releaseProblems('v1.2.3', '1.2.3', files)).toEqual([]);
  expect(releaseProblems('v1.2.3', '1.2.3', { ...files, chart: 'appVersion: "1.2.3"' })).toEqual([]);
  expect(releaseProblems('v1.2.4', '1.2.3', files)).toEqual([
    'The tag is v1.2.4, and package.json has the version 1.2.3: v1.2.3.',
  ]);
  expect(releaseProblems('v2.0.0', '2.0.0', { ...files, uncommitted: ' M a' })).toEqual([
    'CHANGELOG.md has no section ## 2.0.0.',
    'deploy/chart/Chart.yaml has the appVersion 1.2.3, not 2.0.0.',
    'Something is not committed:\n M a',
  ]);
});

test('its notes are the section of the changelog', () => {
  expect(notesOf('1.2.3', CHANGELOG)).toBe('### Added\n\n- a');
  expect(notesOf('1.2.30', CHANGELOG)).toBe('- b');
  expect(notesOf('1.2', CHANGELOG)).toBeUndefined();
});

test('the image is for both kinds of CPU, with what it is made of, and is pushed only when told to', () => {
  const args = imageArguments('host/name', '1.2.3', 'abc', undefined);
  expect(args).toEqual(expect.arrayContaining(['linux/amd64,linux/arm64', 'host/name:1.2.3', 'REVISION=abc']));
  expect(args).not.toContain('--push');
  expect(imageArguments('host/name', '1.2.3', 'abc', 'file')).toEqual(expect.arrayContaining(['--push', 'file']));
});
