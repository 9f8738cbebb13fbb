/** How the configuration names the address of a listener. */
export interface ListenSettings {
  readonly host: string;
  readonly port: string;
}

/** The system does not let us listen there; `cause` is what it says. */
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

/** @throws {ListenError} with these settings where the system refuses the address */
export async function namingSettings<T>(settings: ListenSettings, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    throw error instanceof Error && 'syscall' in error
      ? new ListenError(error as NodeJS.ErrnoException, settings)
      : error;
  }
}
