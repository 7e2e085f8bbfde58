"""The fields of a pod in Kubernetes' Protobuf, in the form of `protobuf_fields`: names and numbers as the tags of
k8s.io/api's core/v1/types.go have them (v0.37), optional where the type is a pointer or JSON always has the field."""

PODS = """\
Pod metadata=1:ObjectMeta spec=2:PodSpec
PodSpec volumes=1:Volume* initContainers=20:Container* containers=2:Container*
  ephemeralContainers=34:EphemeralContainer* restartPolicy=3 terminationGracePeriodSeconds=4#?
  activeDeadlineSeconds=5#? dnsPolicy=6 nodeSelector=7:texts serviceAccountName=8 serviceAccount=9
  automountServiceAccountToken=21!? nodeName=10 hostNetwork=11! hostPID=12! hostIPC=13! shareProcessNamespace=27!?
  securityContext=14:PodSecurityContext? imagePullSecrets=15:LocalObjectReference* hostname=16 subdomain=17
  affinity=18:Affinity? schedulerName=19 tolerations=22:Toleration* hostAliases=23:HostAlias* priorityClassName=24
  priority=25#? dnsConfig=26:PodDNSConfig? readinessGates=28:PodReadinessGate* runtimeClassName=29?
  enableServiceLinks=30!? preemptionPolicy=31? overhead=32:quantities
  topologySpreadConstraints=33:TopologySpreadConstraint* setHostnameAsFQDN=35!? os=36:PodOS? hostUsers=37!?
  schedulingGates=38:PodSchedulingGate* resourceClaims=39:PodResourceClaim* resources=40:ResourceRequirements?
  hostnameOverride=41? schedulingGroup=43:PodSchedulingGroup? evictionResponders=44:EvictionResponder*
Volume name=1? =2:VolumeSource?
Container name=1? image=2 command=3* args=4* workingDir=5 ports=6:ContainerPort* envFrom=19:EnvFromSource*
  env=7:EnvVar* resources=8:ResourceRequirements resizePolicy=23:ContainerResizePolicy* restartPolicy=24?
  restartPolicyRules=25:ContainerRestartRule* volumeMounts=9:VolumeMount* volumeDevices=21:VolumeDevice*
  livenessProbe=10:Probe? readinessProbe=11:Probe? startupProbe=22:Probe? lifecycle=12:Lifecycle?
  terminationMessagePath=13 terminationMessagePolicy=20 imagePullPolicy=14 securityContext=15:SecurityContext?
  stdin=16! stdinOnce=17! tty=18!
EphemeralContainer =1:EphemeralContainerCommon? targetContainerName=2
PodSecurityContext seLinuxOptions=1:SELinuxOptions? windowsOptions=8:WindowsSecurityContextOptions? runAsUser=2#?
  runAsGroup=6#? runAsNonRoot=3!? supplementalGroups=4#* supplementalGroupsPolicy=12? fsGroup=5#? sysctls=7:Sysctl*
  fsGroupChangePolicy=9? seccompProfile=10:SeccompProfile? appArmorProfile=11:AppArmorProfile? seLinuxChangePolicy=13?
LocalObjectReference name=1
Affinity nodeAffinity=1:NodeAffinity? podAffinity=2:PodAffinity? podAntiAffinity=3:PodAntiAffinity?
Toleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5#?
HostAlias ip=1? hostnames=2*
PodDNSConfig nameservers=1* searches=2* options=3:PodDNSConfigOption*
PodReadinessGate conditionType=1?
TopologySpreadConstraint maxSkew=1#? topologyKey=2? whenUnsatisfiable=3? labelSelector=4:LabelSelector? minDomains=5#?
  nodeAffinityPolicy=6? nodeTaintsPolicy=7? matchLabelKeys=8*
PodOS name=1?
PodSchedulingGate name=1?
PodResourceClaim name=1? resourceClaimName=3? resourceClaimTemplateName=4?
ResourceRequirements limits=1:quantities requests=2:quantities claims=3:ResourceClaim*
PodSchedulingGroup podGroupName=1?
EvictionResponder name=1? priority=2#?
VolumeSource hostPath=1:HostPathVolumeSource? emptyDir=2:EmptyDirVolumeSource?
  gcePersistentDisk=3:GCEPersistentDiskVolumeSource? awsElasticBlockStore=4:AWSElasticBlockStoreVolumeSource?
  gitRepo=5:GitRepoVolumeSource? secret=6:SecretVolumeSource? nfs=7:NFSVolumeSource? iscsi=8:ISCSIVolumeSource?
  glusterfs=9:GlusterfsVolumeSource? persistentVolumeClaim=10:PersistentVolumeClaimVolumeSource?
  rbd=11:RBDVolumeSource? flexVolume=12:FlexVolumeSource? cinder=13:CinderVolumeSource? cephfs=14:CephFSVolumeSource?
  flocker=15:FlockerVolumeSource? downwardAPI=16:DownwardAPIVolumeSource? fc=17:FCVolumeSource?
  azureFile=18:AzureFileVolumeSource? configMap=19:ConfigMapVolumeSource?
  vsphereVolume=20:VsphereVirtualDiskVolumeSource? quobyte=21:QuobyteVolumeSource? azureDisk=22:AzureDiskVolumeSource?
  photonPersistentDisk=23:PhotonPersistentDiskVolumeSource? projected=26:ProjectedVolumeSource?
  portworxVolume=24:PortworxVolumeSource? scaleIO=25:ScaleIOVolumeSource? storageos=27:StorageOSVolumeSource?
  csi=28:CSIVolumeSource? ephemeral=29:EphemeralVolumeSource? image=30:ImageVolumeSource?
ContainerPort name=1 hostPort=2# containerPort=3#? protocol=4 hostIP=5
EnvFromSource prefix=1 configMapRef=2:ConfigMapEnvSource? secretRef=3:SecretEnvSource?
EnvVar name=1? value=2 valueFrom=3:EnvVarSource?
ContainerResizePolicy resourceName=1? restartPolicy=2?
ContainerRestartRule action=1 exitCodes=2:ContainerRestartRuleOnExitCodes?
VolumeMount name=1? readOnly=2! recursiveReadOnly=7? mountPath=3? subPath=4 mountPropagation=5? subPathExpr=6
  bindMountOptions=8*
VolumeDevice name=1? devicePath=2?
Probe =1:ProbeHandler? initialDelaySeconds=2# timeoutSeconds=3# periodSeconds=4# successThreshold=5#
  failureThreshold=6# terminationGracePeriodSeconds=7#?
Lifecycle postStart=1:LifecycleHandler? preStop=2:LifecycleHandler? stopSignal=3?
SecurityContext capabilities=1:Capabilities? privileged=2!? seLinuxOptions=3:SELinuxOptions?
  windowsOptions=10:WindowsSecurityContextOptions? runAsUser=4#? runAsGroup=8#? runAsNonRoot=5!?
  readOnlyRootFilesystem=6!? allowPrivilegeEscalation=7!? procMount=9? seccompProfile=11:SeccompProfile?
  appArmorProfile=12:AppArmorProfile?
EphemeralContainerCommon name=1? image=2 command=3* args=4* workingDir=5 ports=6:ContainerPort*
  envFrom=19:EnvFromSource* env=7:EnvVar* resources=8:ResourceRequirements resizePolicy=23:ContainerResizePolicy*
  restartPolicy=24? restartPolicyRules=25:ContainerRestartRule* volumeMounts=9:VolumeMount*
  volumeDevices=21:VolumeDevice* livenessProbe=10:Probe? readinessProbe=11:Probe? startupProbe=22:Probe?
  lifecycle=12:Lifecycle? terminationMessagePath=13 terminationMessagePolicy=20 imagePullPolicy=14
  securityContext=15:SecurityContext? stdin=16! stdinOnce=17! tty=18!
SELinuxOptions user=1 role=2 type=3 level=4
WindowsSecurityContextOptions gmsaCredentialSpecName=1? gmsaCredentialSpec=2? runAsUserName=3? hostProcess=4!?
Sysctl name=1? value=2?
SeccompProfile type=1? localhostProfile=2?
AppArmorProfile type=1? localhostProfile=2?
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution=1:NodeSelector?
  preferredDuringSchedulingIgnoredDuringExecution=2:PreferredSchedulingTerm*
PodAffinity requiredDuringSchedulingIgnoredDuringExecution=1:PodAffinityTerm*
  preferredDuringSchedulingIgnoredDuringExecution=2:WeightedPodAffinityTerm*
PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution=1:PodAffinityTerm*
  preferredDuringSchedulingIgnoredDuringExecution=2:WeightedPodAffinityTerm*
PodDNSConfigOption name=1 value=2?
ResourceClaim name=1? request=2
HostPathVolumeSource path=1? type=2?
EmptyDirVolumeSource medium=1 sizeLimit=2:Quantity? mode=3#?
GCEPersistentDiskVolumeSource pdName=1? fsType=2 partition=3# readOnly=4!
AWSElasticBlockStoreVolumeSource volumeID=1? fsType=2 partition=3# readOnly=4!
GitRepoVolumeSource repository=1? revision=2 directory=3
SecretVolumeSource secretName=1 items=2:KeyToPath* defaultMode=3#? optional=4!? defaultUser=5#?
NFSVolumeSource server=1? path=2? readOnly=3!
ISCSIVolumeSource targetPortal=1? iqn=2? lun=3#? iscsiInterface=4 fsType=5 readOnly=6! portals=7* chapAuthDiscovery=8!
  chapAuthSession=11! secretRef=10:LocalObjectReference? initiatorName=12?
GlusterfsVolumeSource endpoints=1? path=2? readOnly=3!
PersistentVolumeClaimVolumeSource claimName=1? readOnly=2!
RBDVolumeSource monitors=1* image=2? fsType=3 pool=4 user=5 keyring=6 secretRef=7:LocalObjectReference? readOnly=8!
FlexVolumeSource driver=1? fsType=2 secretRef=3:LocalObjectReference? readOnly=4! options=5:texts
CinderVolumeSource volumeID=1? fsType=2 readOnly=3! secretRef=4:LocalObjectReference?
CephFSVolumeSource monitors=1* path=2 user=3 secretFile=4 secretRef=5:LocalObjectReference? readOnly=6!
FlockerVolumeSource datasetName=1 datasetUUID=2
DownwardAPIVolumeSource items=1:DownwardAPIVolumeFile* defaultMode=2#? defaultUser=3#?
FCVolumeSource targetWWNs=1* lun=2#? fsType=3 readOnly=4! wwids=5*
AzureFileVolumeSource secretName=1? shareName=2? readOnly=3!
ConfigMapVolumeSource =1:LocalObjectReference? items=2:KeyToPath* defaultMode=3#? optional=4!? defaultUser=5#?
VsphereVirtualDiskVolumeSource volumePath=1? fsType=2 storagePolicyName=3 storagePolicyID=4
QuobyteVolumeSource registry=1? volume=2? readOnly=3! user=4 group=5 tenant=6
AzureDiskVolumeSource diskName=1? diskURI=2? cachingMode=3? fsType=4? readOnly=5!? kind=6?
PhotonPersistentDiskVolumeSource pdID=1? fsType=2
ProjectedVolumeSource sources=1:VolumeProjection* defaultMode=2#? defaultUser=3#?
PortworxVolumeSource volumeID=1? fsType=2 readOnly=3!
ScaleIOVolumeSource gateway=1? system=2? secretRef=3:LocalObjectReference? sslEnabled=4! protectionDomain=5
  storagePool=6 storageMode=7 volumeName=8 fsType=9 readOnly=10!
StorageOSVolumeSource volumeName=1 volumeNamespace=2 fsType=3 readOnly=4! secretRef=5:LocalObjectReference?
CSIVolumeSource driver=1? readOnly=2!? fsType=3? volumeAttributes=4:texts nodePublishSecretRef=5:LocalObjectReference?
EphemeralVolumeSource volumeClaimTemplate=1:PersistentVolumeClaimTemplate?
ImageVolumeSource reference=1 pullPolicy=2
ConfigMapEnvSource =1:LocalObjectReference? optional=2!?
SecretEnvSource =1:LocalObjectReference? optional=2!?
EnvVarSource fieldRef=1:ObjectFieldSelector? resourceFieldRef=2:ResourceFieldSelector?
  configMapKeyRef=3:ConfigMapKeySelector? secretKeyRef=4:SecretKeySelector? fileKeyRef=5:FileKeySelector?
ContainerRestartRuleOnExitCodes operator=1 values=2#*
ProbeHandler exec=1:ExecAction? httpGet=2:HTTPGetAction? tcpSocket=3:TCPSocketAction? grpc=4:GRPCAction?
LifecycleHandler exec=1:ExecAction? httpGet=2:HTTPGetAction? tcpSocket=3:TCPSocketAction? sleep=4:SleepAction?
Capabilities add=1* drop=2*
NodeSelector nodeSelectorTerms=1:NodeSelectorTerm*
PreferredSchedulingTerm weight=1#? preference=2:NodeSelectorTerm?
PodAffinityTerm labelSelector=1:LabelSelector? namespaces=2* topologyKey=3? namespaceSelector=4:LabelSelector?
  matchLabelKeys=5* mismatchLabelKeys=6*
WeightedPodAffinityTerm weight=1#? podAffinityTerm=2:PodAffinityTerm?
KeyToPath key=1? path=2? mode=3#? user=4#?
DownwardAPIVolumeFile path=1? fieldRef=2:ObjectFieldSelector? resourceFieldRef=3:ResourceFieldSelector? mode=4#?
  user=5#?
VolumeProjection secret=1:SecretProjection? downwardAPI=2:DownwardAPIProjection? configMap=3:ConfigMapProjection?
  serviceAccountToken=4:ServiceAccountTokenProjection? clusterTrustBundle=5:ClusterTrustBundleProjection?
  podCertificate=6:PodCertificateProjection?
PersistentVolumeClaimTemplate metadata=1:ObjectMeta spec=2:PersistentVolumeClaimSpec?
ObjectFieldSelector apiVersion=1 fieldPath=2?
ResourceFieldSelector containerName=1 resource=2? divisor=3:Quantity
ConfigMapKeySelector =1:LocalObjectReference? key=2? optional=3!?
SecretKeySelector =1:LocalObjectReference? key=2? optional=3!?
FileKeySelector volumeName=1? path=2? key=3? optional=4!?
ExecAction command=1*
HTTPGetAction path=1 port=2:IntOrString? host=3 scheme=4 httpHeaders=5:HTTPHeader* protocol=6?
TCPSocketAction port=1:IntOrString? host=2
GRPCAction port=1#? service=2? mode=3?
SleepAction seconds=1#?
NodeSelectorTerm matchExpressions=1:NodeSelectorRequirement* matchFields=2:NodeSelectorRequirement*
SecretProjection =1:LocalObjectReference? items=2:KeyToPath* optional=4!?
DownwardAPIProjection items=1:DownwardAPIVolumeFile*
ConfigMapProjection =1:LocalObjectReference? items=2:KeyToPath* optional=4!?
ServiceAccountTokenProjection audience=1 expirationSeconds=2#? path=3? user=4#?
ClusterTrustBundleProjection name=1? signerName=2? labelSelector=3:LabelSelector? optional=5!? path=4? user=6#?
PodCertificateProjection signerName=1 keyType=2 maxExpirationSeconds=3#? credentialBundlePath=4 keyPath=5
  certificateChainPath=6 userAnnotations=7:texts user=8#?
PersistentVolumeClaimSpec accessModes=1* selector=4:LabelSelector? resources=2:VolumeResourceRequirements volumeName=3
  storageClassName=5? volumeMode=6? dataSource=7:TypedLocalObjectReference? dataSourceRef=8:TypedObjectReference?
  volumeAttributesClassName=9?
HTTPHeader name=1? value=2?
NodeSelectorRequirement key=1? operator=2? values=3*
VolumeResourceRequirements limits=1:quantities requests=2:quantities
TypedLocalObjectReference apiGroup=1? kind=2? name=3?
TypedObjectReference apiGroup=1? kind=2? name=3? namespace=4?
"""
