// SPDX-License-Identifier: Apache-2.0
/** Kinds that only the commands read. Of them no more is typed than what is read, and lists as servers send them: some are null. */
import * as runtime from '@csi-sidecars/runtime';
import type { KubeObject, ObjectMeta, Pod, Resource } from '@csi-sidecars/runtime';

export interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    /** Of a Deployment. */
    readonly strategy?: UpdateStrategy;
    /** Of a DaemonSet. */
    readonly updateStrategy?: UpdateStrategy;
    readonly template?: { readonly metadata?: ObjectMeta; readonly spec?: Pod['spec'] };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
    readonly updatedNumberScheduled?: number;
  };
}

interface UpdateStrategy {
  readonly type?: string;
  readonly rollingUpdate?: {
    readonly maxSurge?: number | string;
    /** A StatefulSet has it in place of a surge. */
    readonly partition?: number;
  };
}

export const deployments: Resource<Workload> = runtime.deployments;
export const statefulSets: Resource<Workload> = runtime.statefulSets;
export const daemonSets: Resource<Workload> = runtime.daemonSets;

export interface Role extends KubeObject {
  /** As the server sends them: what is no list grants nothing. */
  readonly rules?: readonly unknown[] | null;
  readonly aggregationRule?: object;
}

export interface RoleBinding extends KubeObject {
  readonly roleRef?: { readonly kind?: string; readonly name?: string };
  readonly subjects?: readonly { readonly kind?: string; readonly name?: string; readonly namespace?: string }[] | null;
}

export const clusterRoles: Resource<Role> = runtime.clusterRoles;
export const roles: Resource<Role> = runtime.roles;
export const clusterRoleBindings: Resource<RoleBinding> = runtime.clusterRoleBindings;
export const roleBindings: Resource<RoleBinding> = runtime.roleBindings;

export interface Crd extends KubeObject {
  readonly spec?: {
    readonly versions?: readonly { readonly name: string; readonly served?: boolean; readonly storage?: boolean }[];
    readonly conversion?: {
      readonly strategy?: string;
      readonly webhook?: {
        readonly clientConfig?: {
          /** PEM in base64. */
          readonly caBundle?: string;
          readonly service?: { readonly namespace?: string; readonly name?: string };
        };
      };
    };
  };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

export const crds: Resource<Crd> = runtime.customResourceDefinitions;

/** Named like its driver. */
export interface MetadataService extends KubeObject {
  readonly spec?: {
    /** `HOST:PORT`. */
    readonly address?: string;
    readonly audience?: string;
    /** PEM in base64. */
    readonly caCert?: string;
  };
}

export const metadataServices: Resource<MetadataService> = {
  group: 'cbt.storage.k8s.io',
  version: 'v1beta1',
  plural: 'snapshotmetadataservices',
  kind: 'SnapshotMetadataService',
  namespaced: false,
};

export interface AdmissionWebhooks extends KubeObject {
  readonly webhooks?:
    | readonly {
        readonly name?: string;
        /** `Fail` or `Ignore`. */
        readonly failurePolicy?: string;
        readonly clientConfig?: { readonly service?: { readonly namespace?: string; readonly name?: string } };
        readonly rules?: readonly { readonly apiGroups?: readonly string[] }[] | null;
      }[]
    | null;
}

export const validatingWebhooks: Resource<AdmissionWebhooks> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
};

export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[] | null;
}

export const endpointSlices: Resource<EndpointSlice> = runtime.endpointSlices;
