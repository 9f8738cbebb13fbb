import type { Browser, Locator, Page } from 'playwright-core';

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

  [Symbol.asyncDispose](): Promise<void> {
    return this.page.context().close();
  }
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
