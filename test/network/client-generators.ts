import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../scripts/checks/project.ts';
import { writeOpenApi } from '../../scripts/docs/open-api.ts';
import { go, goBuild } from './go-build.ts';

/** The document of a release, which `writeDocument` writes. */
const DOCUMENT = join(ROOT, '.cache', 'openapi.json');
const MODULE = 'go-clients';
const GENERATED = join(import.meta.dirname, MODULE, 'gen');
const TIMEOUT_MS = 10 * 60_000;

const run = (command: string, args: readonly string[], cwd?: string) =>
  promisify(execFile)(command, [...args], { timeout: TIMEOUT_MS, ...(cwd !== undefined && { cwd }) });

/** Writes the document from which clients are generated. */
export const writeDocument = (): Promise<void> => writeOpenApi(DOCUMENT);

/** openapi-generator, or the reason for which it cannot be had. */
export type OpenApiGenerator =
  | { readonly generate: (generator: string, output: string, args?: readonly string[]) => Promise<unknown> }
  | { readonly missing: string };

/** Installs openapi-generator, which is a program of Java, from the registry of Python packages. */
export async function installOpenApiGenerator(): Promise<OpenApiGenerator> {
  const folder = join(import.meta.dirname, '.build', 'openapi-generator');
  const jar = join(folder, 'openapi_generator_cli', 'openapi-generator.jar');
  try {
    await run('java', ['-version']);
    const requirements = join(import.meta.dirname, MODULE, 'requirements.txt');
    const args = ['--quiet', '--no-deps', '--require-hashes', '--target', folder, '-r', requirements];
    if (!existsSync(jar)) await run('python3', ['-m', 'pip', 'install', ...args]);
  } catch (error) {
    return { missing: `openapi-generator cannot be had, which needs Java and pip: ${String(error)}` };
  }
  return {
    generate: (generator, output, args = []) =>
      run('java', ['-jar', jar, 'generate', '-g', generator, '-i', DOCUMENT, '-o', output, ...args]),
  };
}

/** The programs of `go-clients/cmd`, each of which calls a service by the client that its generator makes. */
export type GoClient = 'oapi' | 'ogen' | 'openapi';

/**
 * Generates clients, and builds the programs that use them.
 *
 * @returns the folder with the programs
 */
export async function buildGoClients(generator: OpenApiGenerator): Promise<string> {
  await rm(GENERATED, { recursive: true, force: true });
  await mkdir(join(GENERATED, 'oapi'), { recursive: true });
  const types = ['-generate', 'types,client', '-package', 'oapi', '-o', 'gen/oapi/api.go'];
  await go(MODULE, ['tool', 'oapi-codegen', ...types, DOCUMENT]);
  await go(MODULE, ['tool', 'ogen', '--config', 'ogen.yml', '--target', 'gen/ogen', '--package', 'ogen', DOCUMENT]);
  const programs: GoClient[] = ['oapi', 'ogen'];
  if ('generate' in generator) {
    const parts = 'models,apis,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
    const names = ['-p', 'packageName=openapi,withGoMod=false', '--global-property', parts];
    await generator.generate('go', join(GENERATED, 'openapi'), names);
    programs.push('openapi');
  }
  return goBuild(
    MODULE,
    programs.map((name) => `./cmd/${name}`),
  );
}

/** Compiles a client as strictly as TypeScript does. @returns the compiler's errors */
export async function compileStrictly(folder: string): Promise<string> {
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom'];
  try {
    return (await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'index.ts'], folder)).stdout;
  } catch (error) {
    return String((error as { readonly stdout?: string }).stdout ?? error);
  }
}
