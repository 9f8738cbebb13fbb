export interface VerifyOptions { readonly file?: string }
export async function verify(a: unknown, b: unknown): Promise<number> { return a === b ? 0 : 1; }
