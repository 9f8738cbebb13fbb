import { readFileSync } from 'node:fs';
import { loadConfig } from '../../config/load/load-config.ts';
import { maskedUrl } from '../../config/schema/mask.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import { describeTransportError } from '../../lib/net/transport-error.ts';
import { EXIT, type ExitCode } from '../io/exit-codes.ts';
import { parseAddress } from '../io/input.ts';
import { localUrl } from '../io/local-url.ts';
import { goArguments, parseServiceArguments } from '../io/service-options.ts';
import { messageOf } from '../io/text.ts';
import { goApiPort } from './go-aggregator.ts';

/** A healthy service answers within a millisecond. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Health check of a container: returns 0 if the service on this machine answers, 1 if it answers with a failure, 2 if its arguments or
 * configuration are wrong, and 3 if it does not answer. It finds the port in the configuration of the service; `--of-process 1` takes the
 * arguments of the container's first process, and returns 1 for any of these.
 *
 * @param options `url` names another service
 */
export async function checkHealth(args: readonly string[], { url }: { readonly url?: string } = {}): Promise<ExitCode> {
  const problem = await findProblem(args, url);
  if (problem === undefined) return EXIT.done;
  process.stderr.write(`${problem.text}\n`);
  // Docker knows 0 and 1 alone.
  return args[0] === '--of-process' ? EXIT.no : problem.exitCode;
}

interface HealthProblem {
  readonly exitCode: ExitCode;
  readonly text: string;
}

async function findProblem(args: readonly string[], service: string | undefined): Promise<HealthProblem | undefined> {
  let url: string;
  try {
    url =
      service === undefined
        ? liveUrl(argumentsFor(args, readCommandLine))
        : `${parseAddress(service, '--url', 'the address of a service').href.replace(/\/+$/, '')}/health/live`;
  } catch (error) {
    return { exitCode: EXIT.usage, text: messageOf(error) };
  }
  try {
    const status = await statusOf(url);
    return status === 200 ? undefined : { exitCode: EXIT.no, text: `${maskedUrl(url)} answers ${status}` };
  } catch (error) {
    const text = `${maskedUrl(url)} does not answer: ${describeTransportError(error)}`;
    return { exitCode: EXIT.later, text };
  }
}

/** `fetch` would block some ports, such as 6000. */
async function statusOf(url: string): Promise<number> {
  await using exchange = new Exchange({ baseUrl: url }, { connections: 1 });
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  const { status, body } = await exchange.send({ method: 'GET', target: '', signal });
  await body.dump();
  return status;
}

/** Returns the given arguments, or with `--of-process N` those of that process if it is the service. */
export function argumentsFor(args: readonly string[], read: (pid: string) => readonly string[]): readonly string[] {
  const [option, pid = '', ...rest] = args;
  if (option !== '--of-process') return args;
  const commandLine = read(pid);
  // The process may be an init process, whose arguments contain the command of the service.
  const entry = commandLine.findIndex((argument) => /(^|\/)(start\.js|warp-signature-aggregator)$/.test(argument));
  return entry < 0 ? rest : commandLine.slice(entry + 1);
}

/** Returns the URL of the liveness probe of a service with these arguments: at `metrics.port` if there is one, which no client delays. */
export function liveUrl(args: readonly string[]): string {
  const ofGo = goArguments(args);
  if (ofGo !== undefined) return `http://127.0.0.1:${goApiPort(ofGo)}/metrics`;
  const { server, metrics, networks } = loadConfig(parseServiceArguments(args)).config;
  if (metrics.port !== undefined && metrics.port !== 0) return localUrl(metrics.host, metrics.port, '/health/live');
  const [goPort] = networks.flatMap(({ goApi }) => goApi.apiPort ?? goApi.metricsPort ?? []);
  const port = server.ownApi ? server.port : goPort;
  if (port === undefined || port === 0) {
    throw new Error(
      `${server.ownApi ? 'server.port' : 'the port of goApi'} is 0: only the service itself knows its port`,
    );
  }
  return localUrl(server.host, port, server.ownApi ? '/health/live' : '/metrics');
}

function readCommandLine(pid: string): readonly string[] {
  return readFileSync(`/proc/${Number(pid)}/cmdline`, 'utf8')
    .split('\0')
    .slice(0, -1);
}
