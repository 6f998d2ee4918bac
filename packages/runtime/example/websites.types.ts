// Made by `csi-runtime types`.
import type { KubeObject, Resource, Wire } from '@csi-sidecars/runtime';

export interface WebsiteFields {
  spec: {
    /**
     * The HTML of the one page.
     */
    page: string;
    replicas?: number;
  };
  status?: {
    conditions?: {
      type: string;
      status: 'True' | 'False' | 'Unknown';
      reason: string;
      message: string;
      observedGeneration?: number;
      lastTransitionTime: string;
    }[];
  };
}

export type Website = KubeObject & Wire<WebsiteFields>;
export const websites: Resource<Website> = {
  group: 'example.com',
  version: 'v1',
  plural: 'websites',
  kind: 'Website',
  namespaced: true,
};
