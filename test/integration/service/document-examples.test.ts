import { afterAll, expect, test } from 'vitest';
import { startApp } from '../../../src/app/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { type Filled, readDocument } from '../proxy/document-reader.ts';
import { startStandIn } from '../proxy/stand-in.ts';
import { upstreamSettings } from '../proxy/upstream-service.ts';

/** The requests of the page of the API, sent unchanged. */

const START_TIMEOUT_MS = 20_000;
/** Statuses of operations whose example is of another network, or of a request that was not sent. */
const EXPECTED_ERRORS: Readonly<Record<string, number>> = {
  verifySignedMessage: 400,
  getRequest: 404,
  getValidatorHistory: 404,
  getMessage: 404,
  replayMessages: 404,
  forgetChain: 404,
};

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());
const standIn = opened.use(await startStandIn());
const feed = { chains: [{ blockchainId: 'C', fromBlock: 1 }] };
const networks = { local: { embedded: { validators: 5 }, feed } };
const { config } = parseConfig({ networks, server: { port: 0 }, upstream: upstreamSettings(standIn) }, {}, {});
const steps: string[] = [];
const app = opened.use(
  await startApp({
    config,
    logger: createLogger('silent'),
    clock: systemClock,
    random: Math.random,
    onProgress: (step) => steps.push(step),
  }),
);
await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
const { operations } = await readDocument(app);

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
    const body = requestBody && filledIn(requestBody.content!['application/json']);
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
