// SPDX-License-Identifier: Apache-2.0
/** What the API server sends to webhooks, and what it reads from them: `admission.k8s.io/v1` and ConversionReview of `apiextensions.k8s.io/v1`. */
import type { KubeObject } from '../api/objects.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  /** Lower-case plural. */
  readonly resource: string;
}

/** Who makes the request to the API server, as it has authenticated the client. */
export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** CONNECT is not among them: what it sends is no object of the resource. */
export type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

export interface AdmissionFacts {
  /** The UID of this review. It has nothing to do with the UID of the object. */
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subResource?: string;
  /** What the client asked for. It differs from `kind` if the API server has converted the object to a version that the webhook knows. */
  readonly requestKind?: GroupVersionKind;
  readonly requestResource?: GroupVersionResource;
  readonly requestSubResource?: string;
  /** Absent or empty: the API server generates the name. */
  readonly name?: string;
  readonly namespace?: string;
  readonly userInfo: UserInfo;
  /** True: nothing will be stored. A handler with effects elsewhere must leave them out. */
  readonly dryRun?: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options?: unknown;
}

/** Which objects an operation has. */
export interface ObjectsOf<T> {
  readonly CREATE: { readonly object: T; readonly oldObject: undefined };
  readonly UPDATE: { readonly object: T; readonly oldObject: T };
  readonly DELETE: { readonly object: undefined; readonly oldObject: T };
}

/** A union by `operation`: the objects that an operation has are there. */
export type AdmissionRequest<T extends KubeObject = KubeObject, O extends Operation = Operation> = {
  readonly [Each in O]: AdmissionFacts & { readonly operation: Each } & ObjectsOf<T>[Each];
}[O];

export interface AdmissionResponse {
  /** The UID of the request. */
  readonly uid: string;
  readonly allowed: boolean;
  /** Why it is denied. */
  readonly status?: { readonly code: number; readonly message: string; readonly reason?: string };
  /** A JSON patch, in base64. */
  readonly patch?: string;
  readonly patchType?: 'JSONPatch';
  readonly warnings?: readonly string[];
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export interface AdmissionReview<T extends KubeObject = KubeObject> {
  readonly apiVersion: 'admission.k8s.io/v1';
  readonly kind: 'AdmissionReview';
  readonly request?: AdmissionRequest<T>;
  readonly response?: AdmissionResponse;
}

export interface ConversionRequest<T = KubeObject> {
  readonly uid: string;
  /** Group and version, `example.com/v1`. */
  readonly desiredAPIVersion: string;
  readonly objects: readonly T[];
}

export interface ConversionResponse<T = KubeObject> {
  /** The UID of the request. */
  readonly uid: string;
  /** In the order of the request; null after a failure. */
  readonly convertedObjects: readonly T[] | null;
  readonly result:
    | { readonly metadata: object; readonly status: 'Success' }
    | { readonly metadata: object; readonly status: 'Failure'; readonly message: string };
}

export interface ConversionReview<T = KubeObject> {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'ConversionReview';
  readonly request?: ConversionRequest<T>;
  readonly response?: ConversionResponse<T>;
}
