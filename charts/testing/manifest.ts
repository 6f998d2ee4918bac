// SPDX-License-Identifier: Apache-2.0
/** Rendered objects, and ways to find one. The types cover what tests look at. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly rules?: readonly Rule[];
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string | number; readonly host?: string };
  readonly exec?: unknown;
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly mountPropagation?: string;
  }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly securityContext?: SecurityContext;
  readonly resources?: { readonly requests?: object; readonly limits?: Readonly<Record<string, string>> };
  readonly terminationMessagePolicy?: string;
}

export interface SecurityContext {
  readonly privileged?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly fsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
  readonly seLinuxOptions?: { readonly type?: string };
  readonly windowsOptions?: object;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly dnsPolicy?: string;
  readonly os?: { readonly name: string };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly securityContext?: SecurityContext;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly [field: string]: unknown;
}

export interface Volume {
  readonly name: string;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly emptyDir?: object;
  readonly projected?: object;
  readonly secret?: object;
}

export interface Workload {
  readonly replicas?: number;
  readonly selector: {
    readonly matchLabels: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly { readonly key: string; readonly operator: string }[];
  };
  readonly template: {
    readonly metadata: {
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec: PodSpec;
  };
  readonly [field: string]: unknown;
}

export const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

export function ofKind(objects: readonly Manifest[], kind: string): readonly Manifest[] {
  return objects.filter((object) => object.kind === kind);
}

/** The object of a kind, if there is exactly one, or exactly one of that name. */
export function one(objects: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = ofKind(objects, kind).filter((object) => name === undefined || object.metadata.name === name);
  if (found.length !== 1)
    throw new Error(`${found.length} objects ${kind} ${name ?? ''} among ${objects.map(nameOf).join(', ')}`);
  return found[0]!;
}

export const workload = (object: Manifest): Workload => object.spec as Workload;

export function podOf(object: Manifest): PodSpec {
  return workload(object).template.spec;
}

export const isWorkload = ({ kind }: Manifest): boolean =>
  ['Deployment', 'DaemonSet', 'StatefulSet', 'Job'].includes(kind);

export function containersOf(pod: PodSpec): readonly Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers];
}

export function container(pod: PodSpec, name: string): Container {
  const found = containersOf(pod).find((each) => each.name === name);
  if (found === undefined)
    throw new Error(
      `no container ${name} among ${containersOf(pod)
        .map((each) => each.name)
        .join(', ')}`,
    );
  return found;
}

/** The flags of a container by name, without dashes; a bare flag is `true`. The last one wins. */
export function flagsOf({ args = [], env = [] }: Pick<Container, 'args' | 'env'>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    args.map((argument) => {
      const [, name = '', value = 'true'] = /^--?([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
      const expanded = value.replaceAll(/\$\((\w+)\)/g, (all, variable: string) => {
        return env.find((each) => each.name === variable)?.value ?? all;
      });
      return [name, expanded];
    }),
  );
}
