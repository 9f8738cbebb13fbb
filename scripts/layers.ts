/**
 * The folders of src in the order of their layers, from the bottom up. A file imports from its own folder and from earlier rows; the folders
 * in one row may import from each other.
 */
export const LAYERS: readonly (readonly string[])[] = [
  // A package of its own: it imports nothing of the service.
  ['client/gen'],
  ['client'],
  ['lib/encoding'],
  ['lib/concurrency'],
  ['lib/cache'],
  ['lib/net'],
  ['warp/gen'],
  ['warp'],
  ['telemetry'],
  ['bls/gen'],
  ['bls/field'],
  ['bls/curve'],
  ['bls/pairing'],
  ['bls/backends'],
  ['bls/service'],
  ['validators'],
  ['store/local'],
  ['store/redis'],
  ['pchain/codec'],
  ['pchain/rpc'],
  ['pchain/state'],
  ['p2p/gen'],
  ['p2p/identity'],
  ['p2p/wire'],
  ['p2p/connection'],
  ['p2p/discovery'],
  ['p2p'],
  ['aggregation/validators'],
  ['aggregation'],
  ['aggregation/admission'],
  ['aggregation/transactions'],
  ['aggregation/request'],
  ['aggregation/signers'],
  ['aggregation/collection'],
  ['aggregation/results'],
  ['aggregation/stages'],
  ['aggregation/subnets'],
  ['feed', 'feed/blocks', 'feed/chains'],
  ['record'],
  ['config/schema'],
  ['config'],
  ['config/go-aggregator'],
  ['config/load'],
  ['network'],
  ['http/errors'],
  ['http/request'],
  ['http/access'],
  ['http/parameters'],
  ['http/observability'],
  ['http/server'],
  ['proxy/client'],
  ['proxy/catalogue'],
  ['proxy/routes'],
  ['api/errors'],
  ['api/aggregation'],
  ['api/health'],
  ['api/messages'],
  ['api/feed'],
  ['api/subnets'],
  ['api/go-aggregator'],
  ['api/requests'],
  ['api/openapi'],
  ['api'],
  ['devnet', 'devnet/node', 'devnet/pchain'],
  ['console/server'],
  [
    'console/page',
    'console/page/activity',
    'console/page/find',
    'console/page/input',
    'console/page/inspect',
    'console/page/messages',
    'console/page/service',
    'console/page/sign',
    'console/page/subnets',
    'console/page/ui',
  ],
  // Opens all of the above.
  ['app'],
  ['cli/io'],
  ['cli/probes'],
  ['cli/doctor'],
  ['cli/commands'],
  ['cli'],
  // The files of src itself: main.ts runs the commands.
  [''],
];

/** First-level folders that fewer folders may import from than the layers allow: app passes settings to all others, and the client is outside. */
const IMPORTED_BY: Readonly<Record<string, readonly string[]>> = {
  client: ['client', 'console', 'cli'],
  config: ['config', 'network', 'cli', 'app'],
};

/**
 * Folders that are apart from the service, or below all that it does, each with everything that it may import beside itself: folders with
 * what is below them, and single files.
 */
const APART: Readonly<Record<string, readonly string[]>> = {
  client: [],
  'bls/field': ['bls/gen', 'warp/bls-lengths.ts'],
  'bls/curve': ['bls/field', 'lib/encoding', 'warp/bls-lengths.ts'],
  'bls/pairing': ['bls/field', 'bls/curve', 'lib/encoding'],
  // What the codes of the error table and the facts of a request mean is known where they are raised and written.
  http: ['lib', 'telemetry', 'store/local/limit-counters.ts', 'warp/ids.ts', 'warp/networks.ts'],
  devnet: [
    'lib',
    'warp',
    'telemetry/logger.ts',
    'validators/validator.ts',
    'validators/warp-set.ts',
    'validators/verify-signed-message.ts',
    'bls/backends/bls-backend.ts',
    'bls/backends/noble-backend.ts',
    'pchain/codec',
    'p2p/gen',
    'p2p/identity',
    'p2p/wire',
    'p2p/connection/handshake.ts',
    // Its routes are the service's.
    'http/request/http-server.ts',
    'http/request/json-type.ts',
    'http/request/route-access.ts',
    'http/errors/http-error.ts',
    'http/parameters/parse-fields.ts',
    'api/aggregation/parse-aggregation-request.ts',
  ],
  console: [
    'client',
    'lib/concurrency',
    'telemetry/metrics.ts',
    'validators/quorum.ts',
    'warp/unsigned-message.ts',
    'pchain/codec/access-list.ts',
    'pchain/codec/send-warp-log.ts',
    'store/local/record-limits.ts',
    // What the server's side shows of the networks.
    'network/network.ts',
    'aggregation/subnets/subnet-views.ts',
    'feed/feed-message.ts',
    'http/access/access.ts',
    'http/access/operator-access.ts',
    'http/errors/error-codes.ts',
    'http/errors/http-error.ts',
    'http/request/http-server.ts',
    'http/request/json-type.ts',
    'http/request/route-access.ts',
    'http/server/document-bytes.ts',
    'api/health/start-page.ts',
    'api/openapi/example-request.ts',
    // Records that the page shows.
    'api/aggregation/parse-aggregation-request.ts',
    'api/aggregation/progress-records.ts',
    'api/aggregation/signing-progress.ts',
    'api/feed/feed-records.ts',
    'api/health/health.ts',
    'api/messages/message-records.ts',
    'api/messages/messages.ts',
    'api/messages/verification-record.ts',
    'api/requests/request-record.ts',
    'api/subnets/history-records.ts',
    'api/subnets/subnet-records.ts',
    'devnet/devnet-schemas.ts',
  ],
};

export interface Import {
  readonly from: string;
  readonly to: string;
}

/** @returns a sentence for each import between files of src that the layers do not allow */
export function wrongImports(imports: readonly Import[]): string[] {
  return imports.flatMap(({ from, to }) => {
    if (!isAllowed(folderOf(from), folderOf(to)))
      return [`${from} imports ${to}: src/${folderOf(from)} may not import from src/${folderOf(to)}`];
    const apart = apartFolderOf(from);
    if (apart === undefined || isBelow(to, apart) || APART[apart]?.some((listed) => isBelow(to, listed))) return [];
    return [`${from} imports ${to}: src/${apart} may import only what scripts/layers.ts lists for it`];
  });
}

/** @returns a sentence for each entry of a folder that is apart of which it imports nothing */
export function unusedLists(imports: readonly Import[]): string[] {
  return Object.entries(APART).flatMap(([apart, lists]) => {
    const own = imports.filter(({ from }) => isBelow(from, apart));
    return lists
      .filter((listed) => !own.some(({ to }) => isBelow(to, listed)))
      .map((listed) => `scripts/layers.ts lists ${listed} for src/${apart}, which does not import it`);
  });
}

/** @returns the first-level folders whose layers are not next to each other: they would import from a folder that imports from them */
export function scatteredFolders(layers: readonly (readonly string[])[] = LAYERS): string[] {
  const levels = layers.map((row) => firstLevel(row[0] ?? ''));
  const starts = levels.filter((level, index) => level !== levels[index - 1]);
  return [...new Set(starts.filter((level, index) => starts.indexOf(level) !== index))];
}

/** @returns the files of a circle of imports, those of types and dynamic ones included; undefined if there is none */
export function circleOf(imports: readonly Import[]): string[] | undefined {
  const importsOf = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const search = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const { to } of importsOf.get(file) ?? []) {
      const found = search(to, [...path, file]);
      if (found !== undefined) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const file of importsOf.keys()) {
    const found = search(file, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @returns those of the folders that are in no layer */
export function unplacedFolders(folders: readonly string[]): string[] {
  return folders.filter((folder) => rankOf(folder) === -1);
}

/** @returns the folder below src, such as `p2p/wire`, of a path such as `src/p2p/wire/frames.ts` */
export function folderOf(file: string): string {
  return file.split('/').slice(1, -1).join('/');
}

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true;
  const users = IMPORTED_BY[firstLevel(to)];
  return rankOf(to) !== -1 && rankOf(to) <= rankOf(from) && (users === undefined || users.includes(firstLevel(from)));
}

function apartFolderOf(file: string): string | undefined {
  return Object.keys(APART).find((folder) => isBelow(file, folder));
}

/** @param part of src: a folder or a file */
function isBelow(file: string, part: string): boolean {
  return file === `src/${part}` || file.startsWith(`src/${part}/`);
}

function firstLevel(folder: string): string {
  return folder.split('/')[0] ?? '';
}

function rankOf(folder: string): number {
  return LAYERS.findIndex((row) => row.includes(folder));
}
