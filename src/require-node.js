// Plain JavaScript that parses under any Node with ES modules: an older one must get as far as saying this sentence.

/** The oldest Node that this project runs under. */
export const MINIMUM_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < MINIMUM_MAJOR) {
  process.stderr.write(
    `This project needs Node ${MINIMUM_MAJOR} or newer, but Node ${process.versions.node} is running: start it through an npm script ` +
      'after "npm ci" (npm start, npm test), which brings a Node of its own on Linux and macOS, ' +
      `or install Node ${MINIMUM_MAJOR} from https://nodejs.org.\n`,
  );
  process.exit(1);
}
