// SPDX-License-Identifier: Apache-2.0
/** The part of a JSON descriptor that is read here, and the look-up of types by name in protobuf's scopes. */
export interface Descriptor {
  readonly nested?: Readonly<Record<string, Descriptor>>;
  readonly fields?: Readonly<Record<string, FieldDescriptor>>;
  readonly oneofs?: Readonly<Record<string, { readonly oneof: readonly string[] }>>;
  readonly values?: Readonly<Record<string, number>>;
  readonly methods?: Readonly<Record<string, { readonly requestType: string; readonly responseType: string }>>;
}

export interface FieldDescriptor {
  readonly type: string;
  /** Its number on the wire. */
  readonly id?: number;
  readonly keyType?: string;
  readonly rule?: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A descriptor and the scopes around it, innermost first, itself included. */
export type Scope = readonly Descriptor[];

/** Searches from the inside out, as protobuf does; undefined for a scalar. */
export function lookUp(scope: Scope, name: string): Scope | undefined {
  const path = name.replace(/^\./, '').split('.');
  for (let depth = name.startsWith('.') ? scope.length - 1 : 0; depth < scope.length; depth += 1) {
    let found: Scope | undefined = scope.slice(depth);
    for (const part of path) {
      const child: Descriptor | undefined = ownMember(found?.[0]?.nested, part);
      found = found && child && [child, ...found];
    }
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A member by a name that a peer may have chosen: what the prototype has, such as `constructor`, is no member. */
export function ownMember<T>(members: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined;
}
