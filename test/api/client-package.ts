import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, runProgram } from '../../scripts/installed-packages.ts';
import { packClient } from '../../scripts/pack-client.ts';
import { snippetsOf } from '../support/page-snippets.ts';

const NAME = 'warp-signature-aggregator-client';
/** Kinds of Node, besides this one. */
const OLDER_NODES = ['node-20-11', 'node-20-19', 'node-22'];

const IMPORT = `import { createClient, messageIdOf, SignatureAggregatorError, toAccessList, type SignedMessage } from '${NAME}';
`;
const BODY = `  const { BASE: baseUrl = '', MESSAGE: message = '' } = process.env;
  const client = createClient({ baseUrl, network: 'fuji' });
  const events: string[] = [];
  const signed: SignedMessage = await client.sign(message, { onProgress: ({ event }) => events.push(event) });
  const [entry] = toAccessList(signed.signedMessage);
  const failure: unknown = await client.sign('0x00').catch((error: unknown) => error);
  const isRight =
    events.at(-1) === 'result' &&
    entry !== undefined &&
    messageIdOf(signed.signedMessage) === messageIdOf(message) &&
    failure instanceof SignatureAggregatorError &&
    failure.code === 'invalid_request';
  if (!isRight) throw new Error('the package does not work');
`;
const PROGRAM = `${IMPORT}
async function main(): Promise<void> {
${BODY}}
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
`;
/** For mocha, which Hardhat runs, and for Jest. */
const TEST = `${IMPORT}
it('has a message signed', async () => {
${BODY}});
`;
const HARDHAT_CONFIG = `import type { HardhatUserConfig } from 'hardhat/config';

const config: HardhatUserConfig = { solidity: '0.8.28' };
export default config;
`;

/**
 * Packs the client, and uses it as the projects of its users do: from CommonJS and from ES modules in each kind of Node, by ts-node, in a test of
 * Hardhat 2, and in one of Jest. Compiles the contract of docs/bridge.md, too.
 *
 * @returns what went wrong; undefined if nothing did
 */
export async function testClientPackage(url: string, message: string): Promise<string | undefined> {
  const installed = await installPackages('test/api/consumers');
  if ('problem' in installed) return installed.problem;
  const { folder } = installed;
  const client = join(folder, 'node_modules', NAME);
  rmSync(client, { recursive: true, force: true });
  mkdirSync(client, { recursive: true });
  execFileSync('tar', ['-xzf', await packClient(folder), '--strip-components=1', '-C', client]);

  const bin = (name: string) => join(folder, 'node_modules', '.bin', name);
  const nodes = [process.execPath, ...OLDER_NODES.map((name) => join(folder, 'node_modules', name, 'bin', 'node'))];
  const [, oldest = ''] = nodes;
  const variables = { BASE: url, MESSAGE: message, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', CI: 'true' };
  const project = (name: string, settings: object, files: Readonly<Record<string, string>>) =>
    writeProject(join(folder, name), settings, files);

  const commonjs = project('commonjs', { module: 'commonjs', moduleResolution: 'node10' }, { 'program.ts': PROGRAM });
  const nodenext = project('nodenext', { module: 'nodenext' }, { 'program.mts': PROGRAM, 'required.cts': PROGRAM });
  const bundler = project('bundler', { module: 'esnext', moduleResolution: 'bundler' }, { 'program.ts': PROGRAM });
  const hardhat = project(
    'hardhat',
    { module: 'commonjs', types: ['node', 'mocha'] },
    { 'hardhat.config.ts': HARDHAT_CONFIG, 'test/client.ts': TEST },
  );
  const jest = project(
    'jest',
    { module: 'commonjs', types: ['node', 'jest'], isolatedModules: false },
    { 'jest.config.js': "module.exports = { preset: 'ts-jest' };\n", 'client.test.ts': TEST },
  );

  const contract = project('contract', {}, { 'receiver.sol': snippetsOf('docs/bridge.md', 'solidity').join('') });

  const programs: readonly (readonly [string, string, readonly string[]])[] = [
    ...[commonjs, nodenext, bundler].map((cwd) => [cwd, process.execPath, [bin('tsc')]] as const),
    ...nodes.flatMap((node) =>
      [join(commonjs, 'program.js'), join(nodenext, 'program.mjs'), join(nodenext, 'required.cjs')].map(
        (program) => [folder, node, [program]] as const,
      ),
    ),
    [commonjs, oldest, [bin('ts-node'), 'program.ts']],
    [hardhat, oldest, [bin('hardhat'), 'test', '--no-compile', '--typecheck']],
    [jest, oldest, [bin('jest')]],
    [contract, oldest, [bin('solcjs'), '--bin', 'receiver.sol']],
  ];
  for (const [cwd, command, args] of programs) {
    const problem = await runProgram(cwd, command, args, variables);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @returns the folder */
function writeProject(folder: string, settings: object, files: Readonly<Record<string, string>>): string {
  const compilerOptions = { target: 'es2022', strict: true, types: ['node'], esModuleInterop: true, ...settings };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'test'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
