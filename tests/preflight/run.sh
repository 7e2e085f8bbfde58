if [[ $NUM == 1 ]]; then
    config="--selected_gpus=0,1,2,3,4,5,6,7 --log_dir mylog"
    python -m paddle.distributed.launch ${config} train.py
else
    python -m paddle.distributed.launch \
        --cluster_node_ips=192.168.1.2,192.168.1.3 \
        --node_ip=192.168.1.3 \
        --started_port=6170 \
        --selected_gpus=0,1,2,3 \
        train_with_fleet.py
fi
