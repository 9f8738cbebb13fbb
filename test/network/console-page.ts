import axe from 'axe-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type App, startApp } from '../../src/app/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { DEVNET_L1 } from '../../src/config/schema/network-schema.ts';
import type { Devnet } from '../../src/devnet/devnet.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startChromium } from './chromium.ts';

/** The longest that anything on the page may take. */
export const STEP_TIMEOUT_MS = 20_000;
export const VIEWS = ['Sign', 'Inspect', 'Messages', 'Subnets', 'Activity', 'Service'] as const;
export type ConsoleView = (typeof VIEWS)[number];

export interface ConsoleOptions {
  /** Another service than that of the file. */
  readonly origin?: string;
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** The service answers requests for signatures with an error on purpose, which the browser writes down. */
  readonly fails?: boolean;
}

/** A browser and a service on its devnet for all tests of the file that calls this. */
export function useConsole(): ConsolePage {
  const opened = new AsyncDisposableStack();
  const shown = new ConsolePage();
  beforeAll(async () => {
    shown.browser = await startChromium();
    opened.defer(() => shown.browser.close());
    shown.app = opened.use(await startOnDevnet(20));
  });
  afterEach(() => shown.context.close());
  afterAll(() => opened.disposeAsync());
  return shown;
}

/** @param sections of the configuration */
export async function startOnDevnet(validators: number, network: object = {}, sections: object = {}): Promise<App> {
  // Messages of the C-Chain are not signed before the test asks.
  const feed = { chains: [{ blockchainId: DEVNET_L1, fromBlock: 1 }] };
  const local = { embedded: { validators }, aliases: ['fuji'], feed, ...network };
  const settings = { networks: { local }, server: { port: 0 }, ...sections };
  const { config } = parseConfig(settings, {}, {});
  const app = await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random });
  await app.untilReady(AbortSignal.timeout(STEP_TIMEOUT_MS));
  return app;
}

/** The console in a separate profile for each test, by what a person sees and does there. */
export class ConsolePage {
  browser!: Browser;
  app!: App;
  context!: BrowserContext;
  page!: Page;
  /** All that the page must not do: errors, and requests to elsewhere. */
  problems: string[] = [];

  get devnet(): Devnet {
    return this.app.devnet as Devnet;
  }

  /** Returns when a message can be pasted. */
  async open(options: ConsoleOptions = {}): Promise<void> {
    const { origin = this.app.url, width = 1_280, height = 900, scheme = 'light', fails = false } = options;
    this.context = await this.browser.newContext({
      viewport: { width, height },
      permissions: ['clipboard-read', 'clipboard-write'],
      colorScheme: scheme,
      reducedMotion: 'no-preference',
    });
    this.context.setDefaultTimeout(STEP_TIMEOUT_MS);
    this.page = await this.context.newPage();
    const problems: string[] = [];
    this.problems = problems;
    this.page.on('console', (message) => {
      if (!fails || !message.text().startsWith('Failed to load resource'))
        problems.push(`${message.type()}: ${message.text()}`);
    });
    this.page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    this.page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) problems.push(`elsewhere: ${request.url()}`);
    });
    await this.page.goto(origin);
    await this.input.waitFor();
  }

  goTo(view: ConsoleView): Promise<void> {
    return this.page.getByRole('navigation').getByRole('link', { name: view }).click();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole('heading', { name });
  }

  /** A table with a name. */
  table(name: string): Locator {
    return this.page.getByRole('region', { name });
  }

  /** The field of the view for signing. */
  get input(): Locator {
    return this.page.getByLabel('Message, transaction or log');
  }

  /** The field of the view for inspecting. */
  get inspected(): Locator {
    return this.page.getByLabel('A signed message, or anything that Warp knows');
  }

  get quorum(): Locator {
    return this.page.getByLabel('Quorum', { exact: true });
  }

  /** Pastes a message for which no signature was requested yet; returns it. */
  async pasteNew(devnet = this.devnet): Promise<string> {
    const [message = ''] = devnet.emitMessages(1);
    await this.input.fill(message);
    await this.page.getByText('Unsigned Warp message').waitFor();
    return message;
  }

  async example(label: string): Promise<void> {
    await this.page.getByLabel('Another example').selectOption({ label });
  }

  collect(): Promise<void> {
    return this.page.getByRole('button', { name: 'Collect signatures' }).click();
  }

  /** Collects signatures until the message is signed. */
  async sign(): Promise<void> {
    await this.collect();
    await this.heading('Signed verified').waitFor();
  }

  /** Has an example refused. */
  async fail(): Promise<void> {
    await this.example('Message that its chain never sent');
    await this.collect();
    await this.heading('What went wrong').waitFor();
  }

  /** Problems that axe finds. */
  async findAccessibilityProblems(): Promise<unknown> {
    await this.page.evaluate(axe.source);
    return this.page.evaluate(
      `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; ')))`,
    );
  }
}
