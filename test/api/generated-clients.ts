import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, runProgram } from '../../scripts/installed-packages.ts';

const MAX_MODELS = 275;

/** Signs by a client that openapi-fetch has from the generated types. The compiler checks that the answer has its type. */
const PROGRAM = `import createClient from 'openapi-fetch';
import type { paths } from './api.ts';

const [, , baseUrl = '', message = ''] = process.argv;
const client = createClient<paths>({ baseUrl });
const path = { network: 'fuji' } as const;
const { data, error } = await client.POST('/v1/signatureAggregator/{network}/aggregateSignatures', {
  params: { path },
  body: { message },
});
if (data === undefined) throw new Error(error.code);
const signed: string = data.signedMessage;
const { data: list } = await client.GET('/v1/requests');
const outcomes: string[] = list?.requests.map(({ outcome }) => outcome) ?? [];
if (!/^[0-9a-f]+$/.test(signed) || !outcomes.includes('signed')) throw new Error('the answers are incomplete');
`;

/** Signs by a client of openapi-python-client, whose parser of an answer has to fit it. */
const PYTHON_PROGRAM = `import re
import sys

from api_client import Client
from api_client.api.requests import list_requests
from api_client.api.signature_aggregation import aggregate_signatures
from api_client.models import AggregationRequest, RequestList, SignedMessage

_, base_url, message = sys.argv
client = Client(base_url=base_url)
signed = aggregate_signatures.sync(network="fuji", client=client, body=AggregationRequest(message=message))
assert isinstance(signed, SignedMessage) and re.fullmatch("[0-9a-f]+", signed.signed_message), signed
listed = list_requests.sync(client=client)
assert isinstance(listed, RequestList) and "signed" in [record.outcome for record in listed.requests], listed
`;

/**
 * Generates a package from the OpenAPI document of the service with openapi-python-client, and calls the service with it.
 *
 * @param bin folder of an environment of Python that has the generator
 * @returns what went wrong; undefined if nothing did
 */
export async function testPythonClient(
  cache: string,
  bin: string,
  url: string,
  message: string,
): Promise<string | undefined> {
  const folder = join(cache, 'python-client');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'program.py'), PYTHON_PROGRAM);
  // By default it formats and checks what it has written.
  writeFileSync(join(folder, 'config.yml'), 'post_hooks: []\n');
  const output = ['--meta', 'none', '--output-path', 'api_client', '--config', 'config.yml'];
  return (
    (await runProgram(folder, join(bin, 'openapi-python-client'), [
      'generate',
      '--url',
      `${url}/openapi.json`,
      ...output,
    ])) ??
    findTooManyModels(join(folder, 'api_client', 'models')) ??
    (await runProgram(folder, join(bin, 'python'), ['program.py', url, message]))
  );
}

/** A form or an enumeration without a name becomes a model for each place. The network is any text in the document of a release. */
function findTooManyModels(folder: string): string | undefined {
  const models = readdirSync(folder).filter((file) => /^(?!__init__).*(?<!_network)\.py$/.test(file)).length;
  return models < MAX_MODELS ? undefined : `the client has ${models} models, and should have fewer than ${MAX_MODELS}`;
}

/**
 * Generates types from the OpenAPI document of the service with openapi-typescript, and calls the service with openapi-fetch.
 *
 * @returns what went wrong; undefined if nothing did
 */
export async function testTypeScriptClient(url: string, message: string): Promise<string | undefined> {
  const installed = await installPackages('test/api/clients');
  if ('problem' in installed) return installed.problem;
  const { folder } = installed;
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  const bin = join(folder, 'node_modules', '.bin');
  const types = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--skipLibCheck', '--noEmit'];
  const allowed = ['--allowImportingTsExtensions', '--types', 'node', '--typeRoots'];
  return (
    (await runProgram(folder, join(bin, 'openapi-typescript'), [`${url}/openapi.json`, '-o', 'api.ts'])) ??
    (await runProgram(folder, join(bin, 'tsc'), [
      ...types,
      ...allowed,
      join(import.meta.dirname, '../../node_modules/@types'),
      'program.ts',
    ])) ??
    (await runProgram(folder, process.execPath, ['program.ts', url, message]))
  );
}
