import type { App } from '../../app/app.ts';
import type { LoadedConfig } from '../../config/load/load-config.ts';
import { planReload, settingsAfter } from '../../config/load/reload-plan.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import type { Settings } from '../../config/schema/schema.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface ReloadOptions {
  readonly app: Pick<App, 'update' | 'reportReload'>;
  readonly logger: Logger;
  readonly started: Settings;
  /** Reads the same sources again. @throws {ConfigError} */
  readonly load: () => LoadedConfig;
}

/**
 * Returns the function that reloads the configuration at a signal, one reload after the other. It never rejects, and an invalid file
 * changes nothing.
 */
export function createReload({ app, logger, started, load }: ReloadOptions): () => Promise<void> {
  let running = started;
  let last: Promise<void> = Promise.resolve();

  async function reload(): Promise<void> {
    let next: LoadedConfig;
    try {
      next = load();
    } catch (error) {
      const problems = error instanceof ConfigError ? error.message : String(error);
      logger.error({ problems }, 'the configuration is not reloaded: nothing changes');
      app.reportReload(false);
      return;
    }
    const plan = planReload(running, next.settings);
    const kept = await app.update(next.config);
    const isKept = (setting: string): boolean =>
      [...kept.keys()].some((name) => ['pChainApi', 'infoApi'].some((api) => setting === `networks.${name}.${api}`));
    const taken = plan.taken.filter((setting) => !isKept(setting));
    for (const [network, reason] of kept) {
      logger.error({ network, reason }, 'the addresses of the APIs do not change');
    }
    running = settingsAfter(running, next.settings, taken);
    app.reportReload(kept.size === 0);
    logger.info({ taken, left: plan.left }, 'configuration reloaded; settings in `left` need a restart');
  }

  return () => {
    last = last.then(reload).catch((error: unknown) => {
      app.reportReload(false);
      logger.error({ err: error }, 'the configuration is not reloaded');
    });
    return last;
  };
}
