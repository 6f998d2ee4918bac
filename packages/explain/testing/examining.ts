// SPDX-License-Identifier: Apache-2.0
/** Doctor, run over an installation: what it finds, and the cases of its checks. */
import type { Transport } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import type { Diagnosis } from '../src/doctor/diagnosis.ts';
import { runDoctor } from '../src/doctor/command.ts';
import { type Asking, runCommand } from './cluster.ts';
import { installation } from './installation.ts';

export interface Examined {
  readonly code: number;
  readonly host: FakeHost;
  readonly document: Diagnosis;
  /** `error lease-1`, of findings that count. */
  readonly found: readonly string[];
}

export async function doctor(host: FakeHost, args: readonly string[] = [], asking: Asking = {}): Promise<Examined> {
  const before = host.printed().length;
  const code = await runCommand(runDoctor, { host, args: [...args, '-o', 'json'], ...asking });
  const document = JSON.parse(host.printed().slice(before)) as Diagnosis;
  const counted = document.findings?.filter(({ because }) => because === null) ?? [];
  return { code, host, document, found: counted.map(({ id, severity }) => `${severity} ${id}`) };
}

export interface AskedRight {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
}

/** All values that the findings of a document have as evidence. */
export function seenIn({ findings }: Diagnosis): readonly string[] {
  return findings.flatMap(({ evidence }) => evidence.map(({ value }) => value));
}

/** An API server of this version: `v1.30.14`. */
export function ofVersion(gitVersion: string): (transport: Transport) => Transport {
  return (transport) => async (request) =>
    request.path === '/version'
      ? { status: 200, headers: { 'content-type': 'application/json' }, body: answer(JSON.stringify({ gitVersion })) }
      : await transport(request);
}

/** Answers SubjectAccessReviews: `undefined` is an authorizer without an opinion that has failed. */
export function reviewing(decide: (asked: AskedRight) => boolean | undefined): (transport: Transport) => Transport {
  return (transport) => async (request) => {
    if (!request.path.endsWith('/subjectaccessreviews')) return await transport(request);
    const { spec } = JSON.parse(String(request.body)) as {
      readonly spec: {
        readonly user: string;
        readonly resourceAttributes: { readonly verb: string; readonly resource: string };
      };
    };
    const allowed = decide({ user: spec.user, ...spec.resourceAttributes });
    const status = allowed === undefined ? { allowed: false, evaluationError: 'webhook: timeout' } : { allowed };
    return {
      status: 201,
      headers: { 'content-type': 'application/json' },
      body: answer(
        JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec, status }),
      ),
    };
  };
}

async function* answer(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** One change of the installation, and what is found then: `error lease-1`. */
export interface Case {
  /** Completes `given ...`. With the numbers of cases, if it has any: `[explain#94] no csi-attacher`. */
  readonly given: string;
  readonly change: (host: FakeHost) => void;
  /** Further arguments, where a change has many consequences. */
  readonly args?: readonly string[];
  /** Empty: that is fine. */
  readonly found: readonly string[];
  /** Values that contradict each other, in the evidence of what is found. */
  readonly seen?: readonly string[];
  /** The version of the API server. Default: that of the newest Kubernetes. */
  readonly version?: string;
}

/** What is found in the installation with this change, which values of the case are not in the evidence, and which checks could not judge. */
export async function judged({ change, args, seen = [], version }: Case): Promise<{
  readonly found: readonly string[];
  readonly unseen: readonly string[];
  readonly notRun: readonly string[];
}> {
  const host = installation(version === undefined ? {} : { intercept: ofVersion(version) });
  change(host);
  const { found, document } = await doctor(host, args);
  const values = seenIn(document);
  return {
    found: found.toSorted(),
    unseen: seen.filter((value) => !values.includes(value)),
    notRun: document.notRun.map(({ id }) => id),
  };
}

/** The title of the test of a case. */
export function titleOf({ given, found }: Case): string {
  const [, numbers = '', rest = ''] = /^(\[explain#[\d,]+\] )?(.*)$/s.exec(given) ?? [];
  return `${numbers}given ${rest}, when examined, then ${found.length === 0 ? 'nothing is found' : `it finds ${found.join(', ')}`}`;
}
