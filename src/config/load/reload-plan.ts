import { SETTINGS, type Settings } from '../schema/schema.ts';
import { isObject, type Path, partAt, pathText } from '../schema/setting.ts';
import { settingsOf } from './variables.ts';

/** What of a changed configuration a running service takes. Settings are named as in the file; their values are not told. */
export interface ReloadPlan {
  readonly taken: readonly string[];
  /** These have changed, too, and take effect with the next start. */
  readonly left: readonly string[];
}

/** What can change while the service runs; `*` is any network. All else is read once, at the start. */
const LIVE: readonly string[] = [
  'log.level',
  'access.unitsPerMinute',
  'access.apiKeys',
  'networks.*.trackedSubnetIds',
  'networks.*.manuallyTrackedPeers',
  'networks.*.pChainApi',
  'networks.*.infoApi',
];
/** The address of one of these can change, but whether there is one decides which routes there are. */
const LIVE_WHERE_GIVEN: readonly string[] = [
  'upstream.dataApi.mainnet',
  'upstream.dataApi.fuji',
  'upstream.dataApi.evm',
  'upstream.metrics',
  'upstream.nodeRpc',
];

/** @param before what the service runs with */
export function planReload(before: Settings, after: Settings): ReloadPlan {
  const names = new Set([...Object.keys(before.networks), ...Object.keys(after.networks)]);
  const both = [...names].filter((name) => name in before.networks && name in after.networks);
  const added = [...names].filter((name) => !both.includes(name)).map((name) => `networks.${name}`);
  const taken: string[] = [];
  const left: string[] = [...added];
  const isIn = (settings: Settings, path: Path): boolean => partAt(settings, path) !== undefined;
  for (const path of wholeSettings(both)) {
    if (isEqual(partAt(before, path), partAt(after, path))) continue;
    const form = pathText(path[0] === 'networks' ? ['networks', '*', ...path.slice(2)] : path);
    const isReplaced = LIVE_WHERE_GIVEN.includes(form) && isIn(before, path) && isIn(after, path);
    // The API of an embedded network is where it was started, and has no setting.
    const isLive = (LIVE.includes(form) && isIn(after, path)) || isReplaced;
    (isLive ? taken : left).push(pathText(path));
  }
  return { taken, left };
}

/** What the service runs with after it has taken these settings. */
export function settingsAfter(before: Settings, after: Settings, taken: readonly string[]): Settings {
  const paths = wholeSettings(Object.keys(before.networks)).filter((path) => taken.includes(pathText(path)));
  return paths.reduce<unknown>(
    (settings, path) => withSetting(settings, path, partAt(after, path)),
    before,
  ) as Settings;
}

/** Settings that are set as a whole: an endpoint, and not its base URL. */
function wholeSettings(networks: readonly string[]): readonly string[][] {
  const paths = settingsOf(SETTINGS, networks).map(({ path }) => [...path]);
  const texts = new Set(paths.map((path) => pathText(path)));
  return paths.filter((path) => !path.some((_, length) => length > 0 && texts.has(pathText(path.slice(0, length)))));
}

function withSetting(settings: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const object = isObject(settings) ? settings : {};
  return { ...object, [key]: withSetting(object[key], rest, value) };
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]))
    );
  }
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(a[key], b[key]));
}
