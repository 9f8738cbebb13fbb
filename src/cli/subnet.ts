export interface SubnetOptions { readonly file?: string }
export async function showSubnet(a: unknown, b: unknown): Promise<number> { return a === b ? 0 : 1; }
