import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { completeReport } from '../../../../src/cli/doctor/findings.ts';
import { formatReport } from '../../../../src/cli/doctor/report-text.ts';
import { call, endpoint, facts, network, subnet, validator } from './doctor-report.ts';

const lines = (change: Parameters<typeof facts>[0] = {}): string[] => {
  return stripVTControlCharacters(formatReport(completeReport(facts(change)))).split('\n');
};

it('columns are aligned, and stages that failed are marked', () => {
  const table = lines({
    networks: [
      network({
        subnets: [
          subnet({
            heaviest: [
              validator(60),
              validator(7.5, {
                tls: { outcome: 'failed' },
                handshake: { outcome: 'not_reached' },
                reason: 'no answer to TLS',
                answer: { outcome: 'not_asked' },
              }),
            ],
          }),
        ],
      }),
    ],
  }).filter((line) => / % +NodeID|weight +NodeID/.test(line));
  expect(table).toEqual([
    '    weight  NodeID                                    address         TCP    TLS  handshake  version  answer',
    '   60.00 %  NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg  1.2.3.4:9651  20 ms  21 ms      22 ms  1.15.0   answers (11), 3 ms',
    '    7.50 %  NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg  1.2.3.4:9651  20 ms      ✗          –  1.15.0   no answer to TLS',
  ]);
});

it('a refused call shows the words of the endpoint, and what is lost without it', () => {
  const refused = call('platform.getTx', { outcome: 'refused', words: 'not here \u001b[31m' });
  const text = lines({ networks: [network({ endpoints: [endpoint({ calls: [...endpoint().calls, refused] })] })] });
  const at = text.findIndex((line) => line.includes('✗'));
  expect(text.slice(at, at + 2)).toEqual([
    '    ✗  platform.getTx  12 ms  refused: not here',
    '       without it: what platform.getTx is for',
  ]);
});

it('findings come last, with what to do, on lines of a hundred characters', () => {
  const text = lines({
    networks: [network({ endpoints: [endpoint({ clockOffsetMs: 121_000 })], peersClockOffsetMs: 121_000 })],
  });
  expect(text.slice(text.indexOf('Findings'))).toEqual([
    'Findings',
    '  ✗ problem  fuji',
    '             the clock of this machine is 121 s behind its nodes; nodes refuse a difference of 60 s',
    '             → synchronise it, such as by NTP',
  ]);
  expect(lines().at(-1)).toBe('  ✓ the service works with this configuration');
});
