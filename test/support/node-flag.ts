/** The flag with which each program of this project is started: undici marks the decoding of compressed bodies as experimental. */
export const NODE_FLAG = '--disable-warning=ExperimentalWarning';
