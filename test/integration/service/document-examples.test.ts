import { afterAll, beforeAll, expect, test } from 'vitest';
import { type App, startApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startStandIn } from '../proxy/stand-in.ts';
import { upstreamSettings } from '../proxy/upstream-service.ts';

/** The requests of the page of the API, sent unchanged. */

interface Filled {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly (Filled & {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: { readonly enum?: readonly string[] };
  })[];
  readonly requestBody?: { readonly content: { readonly 'application/json': Filled } };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Filled & { schema: { examples?: unknown[] } }>> }>
  >;
}

const START_TIMEOUT_MS = 20_000;
/** Statuses of operations whose example is of another network, or of a request that was not sent. */
const EXPECTED_ERRORS: Readonly<Record<string, number>> = { verifySignedMessage: 400, getRequest: 404 };

const opened = new AsyncDisposableStack();
const steps: string[] = [];
let app: App;
let operations: { path: string; method: string; operation: Operation }[];

beforeAll(async () => {
  const standIn = opened.use(await startStandIn());
  const settings = {
    networks: { local: { embedded: { validators: 5 } } },
    server: { port: 0 },
    upstream: upstreamSettings(standIn),
  };
  const { config } = parseConfig(settings, {}, {});
  app = opened.use(
    await startApp({
      ...{ config, logger: createLogger('silent'), clock: systemClock, random: Math.random },
      onProgress: (step) => steps.push(step),
    }),
  );
  await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
  const response = await fetch(`${app.url}/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
});
afterAll(() => opened.disposeAsync());

/** Returns the first of several examples, like the page. */
function filledIn({ example, examples = {} }: Filled): unknown {
  return example ?? Object.values(examples)[0]?.value;
}

/** Formats a value for a path or a query. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

test('each operation works as it is filled in', async () => {
  expect(operations.length).toBeGreaterThan(30);
  for (const { path, method, operation } of operations) {
    const { operationId, parameters = [], requestBody } = operation;
    const needed = parameters
      .filter(({ required }) => required)
      .map((parameter) => ({ ...parameter, value: textOf(filledIn(parameter) ?? parameter.schema.enum?.[0]) }));
    for (const { name, value } of needed) expect(value, `${operationId}: ${name}`).toBeDefined();
    const query = needed.filter((parameter) => parameter.in === 'query').map(({ name, value }) => `${name}=${value}`);
    const target = `${path.replaceAll(/\{(\w+)\}/g, (_, name) => needed.find((one) => one.name === name)?.value ?? '')}?${query.join('&')}`;
    const body = requestBody && filledIn(requestBody.content['application/json']);
    if (requestBody !== undefined) expect(body, operationId).toBeDefined();
    const response = await fetch(`${app.url}${target}`, {
      method: method.toUpperCase(),
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const expected = [EXPECTED_ERRORS[operationId] ?? [200, 201]].flat();
    expect(expected, `${operationId}: ${target} ${response.status} ${text}`).toContain(response.status);
  }
});

test('the start of a devnet is reported step by step, in the order of the steps', () => {
  expect(steps).toEqual(['starting validators: 0 of 7', 'starting validators: 7 of 7', 'connecting to the validators']);
});
