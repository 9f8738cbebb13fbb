import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { MAX_PROBLEMS } from '../schema/config-error.ts';
import { SettingsSchema } from '../schema/schema.ts';
import type { Path, Setting } from '../schema/setting.ts';

/** State of one run of the validator. */
interface Run {
  /** Failed checks: the ones after the last that is shown are left out. */
  failed: number;
}

/** Parameters of an error of the keyword `check`. */
export interface FailedCheck {
  readonly problem: string;
  readonly at: Path;
  readonly meant: string | undefined;
}

/** Compiled at the first use. The second one adds defaults only. */
const compiled: { checking?: ValidateFunction; filling?: ValidateFunction } = {};

/**
 * Adds the defaults to the settings, checks them, and replaces texts by what their parsers return.
 *
 * @returns the errors; an empty list if the settings are valid
 */
export function validate(settings: unknown): readonly ErrorObject[] {
  compiled.checking ??= createAjv(true).compile(SettingsSchema);
  const run: Run = { failed: 0 };
  return compiled.checking.call(run, settings) ? [] : (compiled.checking.errors ?? []);
}

/** Adds the defaults to settings, in which texts are still as they were written. */
export function addDefaults(written: unknown): void {
  compiled.filling ??= createAjv(false).compile(SettingsSchema);
  compiled.filling(written);
}

function createAjv(isChecking: boolean): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    // For `Run`.
    passContext: true,
    // The schema has fields that describe settings, which Ajv ignores.
    strict: false,
    // Types check it, and the start need not.
    meta: false,
    validateSchema: false,
  });
  if (isChecking) {
    ajv.addKeyword({
      keyword: 'check',
      // After the keywords for these types, so that the parts of a list or object have their defaults.
      type: ['string', 'array', 'object'],
      modifying: true,
      errors: true,
      compile: (check, schema) => compileCheck(check, [schema['type']].flat()),
    });
  }
  return ajv;
}

/** Returns the function that Ajv calls for each value with this check; Ajv reads its property `errors`. */
function compileCheck(check: NonNullable<Setting['check']>, types: readonly string[]) {
  const run = function (this: Run, value: unknown, place: Parameters<ValidateFunction>[1]): boolean {
    const errors: Partial<ErrorObject>[] = [];
    run.errors = errors;
    // Ajv calls it again for a parsed value that is of another type than its text.
    const isOfType = types.includes(Array.isArray(value) ? 'array' : typeof value);
    if (!isOfType || this.failed >= MAX_PROBLEMS) return true;
    const parsed = check(value as never, (problem, at = [], meant) => {
      errors.push({ keyword: 'check', params: { problem, at, meant } satisfies FailedCheck });
    });
    this.failed += errors.length;
    if (errors.length > 0) return false;
    if (parsed !== undefined && place !== undefined) place.parentData[place.parentDataProperty] = parsed;
    return true;
  };
  run.errors = [] as Partial<ErrorObject>[];
  return run;
}
