// SPDX-License-Identifier: Apache-2.0
/** Replaced by the generated method table: full method name -> request and response types. */
export interface Methods {
  readonly '/csi.v1.Identity/GetPluginInfo': {
    readonly request: Record<string, never>;
    readonly response: { readonly name: string; readonly vendor_version: string };
  };
}
export type Method = keyof Methods;
export type RequestOf<M extends Method> = Methods[M]['request'];
export type ResponseOf<M extends Method> = Methods[M]['response'];
