import { isDeepStrictEqual } from 'node:util';
import { SETTINGS, type Settings } from '../schema/schema.ts';
import { type Path, partAt, pathText, withPart } from '../schema/setting.ts';
import { settingsOf } from '../schema/variables.ts';

/** Settings that can change while the service runs; `*` is any network. All others are read at start. */
const LIVE: readonly string[] = [
  'log.level',
  'access.unitsPerMinute',
  'access.apiKeys',
  'access.requireKey',
  'access.operateWithoutKey',
  'networks.*.trackedSubnetIds',
  'networks.*.manuallyTrackedPeers',
  'networks.*.pChainApi',
  'networks.*.infoApi',
  'networks.*.chainRpc',
  'networks.*.feed.chains',
  'networks.*.feed.retentionHours',
  'networks.*.feed.maxMessages',
];
/** Endpoints that can be replaced, but neither added nor removed: whether they exist decides which routes exist. */
const LIVE_IF_GIVEN: readonly string[] = [
  'upstream.dataApi.mainnet',
  'upstream.dataApi.fuji',
  'upstream.dataApi.evm',
  'upstream.metrics',
  'upstream.nodeRpc',
];

/**
 * Returns the changes of a configuration that a running service applies, and those that it leaves. Settings are named as in the file,
 * without their values.
 *
 * @param before what the service runs with
 */
export function planReload(before: Settings, after: Settings) {
  const names = new Set([...Object.keys(before.networks), ...Object.keys(after.networks)]);
  const both = [...names].filter((name) => name in before.networks && name in after.networks);
  const taken: string[] = [];
  const left = [...names].filter((name) => !both.includes(name)).map((name) => `networks.${name}`);
  for (const path of wholeSettings(both)) {
    const [old, next] = [partAt(before, path), partAt(after, path)];
    if (isDeepStrictEqual(old, next)) continue;
    const form = pathText(path[0] === 'networks' ? ['networks', '*', ...path.slice(2)] : path);
    const isReplaced = LIVE_IF_GIVEN.includes(form) && old !== undefined && next !== undefined;
    // The API of a devnet has a fixed address, and no setting.
    const isLive = (LIVE.includes(form) && next !== undefined) || isReplaced;
    (isLive ? taken : left).push(pathText(path));
  }
  return { taken, left };
}

/** Returns the settings that the service runs with after it has applied these changes. */
export function settingsAfter(before: Settings, after: Settings, taken: readonly string[]): Settings {
  const paths = wholeSettings(Object.keys(before.networks)).filter((path) => taken.includes(pathText(path)));
  return paths.reduce<unknown>((settings, path) => withPart(settings, path, partAt(after, path)), before) as Settings;
}

/** Lists the settings that are replaced as a whole, such as an endpoint with all its parts. */
function wholeSettings(networks: readonly string[]): readonly (readonly string[])[] {
  const paths = settingsOf(SETTINGS, networks).map(({ path }) => path);
  const texts = new Set(paths.map((path) => pathText(path)));
  const hasParent = (path: Path): boolean =>
    path.some((_, length) => length > 0 && texts.has(pathText(path.slice(0, length))));
  return paths.filter((path) => !hasParent(path));
}
