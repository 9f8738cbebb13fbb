import type { Server } from '../request/http-server.ts';

/** Names of the settings with a listener's address. */
export interface ListenSettings {
  readonly host: string;
  readonly port: string;
}

/** The system refused the listener's address; `cause` is its error. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  override readonly cause: NodeJS.ErrnoException;
  readonly settings: ListenSettings;

  constructor(cause: NodeJS.ErrnoException, settings: ListenSettings) {
    super(cause.message, { cause });
    this.cause = cause;
    this.settings = settings;
  }
}

/** Connections that wait until they are accepted, one in each turn of the event loop. The system may allow fewer: `net.core.somaxconn`. */
const BACKLOG = 4_096;

/** Returns the URL. @throws {ListenError} with these settings if the system refuses the address */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  settings: ListenSettings,
): Promise<string> {
  try {
    return await server.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    throw error instanceof Error && 'syscall' in error
      ? new ListenError(error as NodeJS.ErrnoException, settings)
      : error;
  }
}
