import { expect, test } from 'vitest';
import { parseExactJson } from '../../../../src/pchain/codec/exact-json.ts';
import { activeWarpConfig, NO_WARP, parseWarpUpgrades } from '../../../../src/pchain/codec/warp-config.ts';

const parse = (config: object) => parseWarpUpgrades(parseExactJson(JSON.stringify(config), 'result'));
const at = (config: object, time: bigint) => {
  const { isEnabled, quorumNum, requirePrimaryNetworkSigners } = activeWarpConfig(parse(config), time);
  return [isEnabled, quorumNum, requirePrimaryNetworkSigners];
};
const upgrades = (...configs: object[]) => ({ precompileUpgrades: configs.map((warpConfig) => ({ warpConfig })) });

test('a chain without the precompile accepts no message', () => {
  for (const config of [{}, { upgrades: null }, { upgrades: { precompileUpgrades: null } }, { warpConfig: null }]) {
    expect(activeWarpConfig(parse(config), 10n)).toBe(NO_WARP);
  }
});

test.each<[object, bigint, unknown]>([
  [{ blockTimestamp: 5, quorumNumerator: 0 }, 5n, [true, 67n, false]],
  [{ blockTimestamp: 5, quorumNumerator: 80 }, 4n, [false, 67n, false]],
  [{ blockTimestamp: 5, quorumNumerator: 80, requirePrimaryNetworkSigners: true }, 9n, [true, 80n, true]],
  [{ quorumNumerator: 50 }, 0n, [true, 50n, false]],
])('the configuration of the genesis counts from its time on (%#)', (warpConfig, time, expected) => {
  expect(at({ warpConfig }, time)).toEqual(expected);
});

test('upgrades replace it one after the other: they change, disable and enable the precompile', () => {
  const config = {
    warpConfig: { blockTimestamp: 5, requirePrimaryNetworkSigners: true },
    upgrades: {
      precompileUpgrades: [
        { warpConfig: { blockTimestamp: 10, disable: true } },
        { feeManagerConfig: { blockTimestamp: 15 } },
        { warpConfig: { blockTimestamp: '20', quorumNumerator: 75 } },
      ],
    },
  };
  expect(at(config, 9n)).toEqual([true, 67n, true]);
  expect(at(config, 10n)).toEqual([false, 67n, false]);
  expect(at(config, 19n)).toEqual([false, 67n, false]);
  // Nothing of an earlier configuration stays.
  expect(at(config, 20n)).toEqual([true, 75n, false]);
});

test.each<[object, RegExp]>([
  [{ warpConfig: [] }, /warpConfig.* must be an object/],
  [{ warpConfig: { quorumNumerator: 101 } }, /at most 100, is 101/],
  [{ warpConfig: { quorumNumerator: -1 } }, /quorumNumerator/],
  [{ warpConfig: { requirePrimaryNetworkSigners: 'true' } }, /must be true or false/],
  [{ warpConfig: { disable: 1 } }, /must be true or false/],
  [{ warpConfig: { blockTimestamp: 'now' } }, /blockTimestamp/],
  [{ upgrades: { precompileUpgrades: {} } }, /precompileUpgrades.* must be an array/],
  [{ upgrades: upgrades(...Array.from({ length: 65 }, () => ({}))) }, /at most 64/],
])('a configuration of another form is refused (%#)', (config, message) => {
  expect(() => parse(config)).toThrow(message);
});
