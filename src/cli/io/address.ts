import { maskedUrl } from '../../config/schema/mask.ts';
import { usageFailure } from '../exit-codes.ts';

/**
 * The address of an API, as an option gives it. It has no user and no password: nobody would send them.
 *
 * @param meaning what the option must be, in words
 * @throws {CommandFailure}
 */
export function parseAddress(text: string, option: string, meaning: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageFailure(`${option} must be ${meaning}, is ${maskedUrl(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageFailure(`${option} must not hold a user or a password, as they would not be sent`);
  }
  return url;
}
