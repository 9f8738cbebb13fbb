import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startChromium } from './chromium.ts';

/** The longest that anything on the page may take. */
export const STEP_TIMEOUT_MS = 20_000;
export const VIEWS = ['Sign', 'Inspect', 'Subnets', 'Activity', 'Service'] as const;
export type ConsoleView = (typeof VIEWS)[number];

export interface ConsoleOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** The service answers requests for signatures with an error on purpose, which the browser writes down. */
  readonly fails?: boolean;
}

/** The console in a profile of its own, by what a person sees and does there. */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  /** All that the page must not do: errors, and requests to elsewhere. */
  readonly problems: readonly string[];

  constructor(page: Page, problems: readonly string[]) {
    this.page = page;
    this.problems = problems;
  }

  goTo(view: ConsoleView): Promise<void> {
    return this.page.getByRole('navigation').getByRole('link', { name: view }).click();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole('heading', { name });
  }

  /** Into the field of the view for signing. */
  paste(text: string): Promise<void> {
    return this.page.getByLabel('Message, transaction or log').fill(text);
  }

  /** Into the field of the view for inspecting. */
  pasteToInspect(text: string): Promise<void> {
    return this.page.getByLabel('A signed message, or anything that Warp knows').fill(text);
  }

  collect(): Promise<void> {
    return this.page.getByRole('button', { name: 'Collect signatures' }).click();
  }

  /** By axe. */
  async findAccessibilityProblems(): Promise<unknown> {
    await this.page.evaluate(axe.source);
    return this.page.evaluate(
      `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; ')))`,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.page.context().close();
  }
}

/** A browser for all tests of the file that calls this, and the console that each of them opens last. */
export interface ConsoleFixture {
  readonly browser: Browser;
  readonly shown: ConsolePage;
  readonly page: Page;
  open(origin: string, options?: ConsoleOptions): Promise<ConsolePage>;
}

export function useConsole(): ConsoleFixture {
  let browser: Browser;
  let shown: ConsolePage;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterEach(() => shown[Symbol.asyncDispose]());
  afterAll(() => browser?.close());
  return {
    get browser() {
      return browser;
    },
    get shown() {
      return shown;
    },
    get page() {
      return shown.page;
    },
    async open(origin, options) {
      shown = await openConsole(browser, origin, options);
      return shown;
    },
  };
}

/** Opens the console of the service at `origin`; returns when a message can be pasted. */
export async function openConsole(
  browser: Browser,
  origin: string,
  { width = 1_280, height = 900, scheme = 'light', fails = false }: ConsoleOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height },
    permissions: ['clipboard-read', 'clipboard-write'],
    colorScheme: scheme,
    reducedMotion: 'no-preference',
  });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (!fails || !message.text().startsWith('Failed to load resource'))
      problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`elsewhere: ${request.url()}`);
  });
  await page.goto(origin);
  await page.getByLabel('Message, transaction or log').waitFor();
  return new ConsolePage(page, problems);
}
